"""Builds the desired state from files, as a pure function: safe YAML with places, documents, connectors."""
