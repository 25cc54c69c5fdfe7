"""git -> files: clone or fetch, choose a revision, walk a folder of it in order."""
