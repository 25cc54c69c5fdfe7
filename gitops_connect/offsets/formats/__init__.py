"""Reads offset manifests of every format, each entry with its line."""
