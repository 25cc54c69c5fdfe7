"""The forges: the servers of Git repositories with their pull requests."""
