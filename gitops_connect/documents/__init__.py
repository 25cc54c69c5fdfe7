"""Reads the desired state from documents: YAML with the position of every field. No side effects."""
