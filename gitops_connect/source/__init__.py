"""Reads the repository with Git: clone or fetch, choose a revision, list the files of a directory in order."""
