"""Cuts the files of manifests into splits that Spark tasks read."""
