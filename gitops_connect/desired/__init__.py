"""files -> desired state, as a pure function: safe YAML with places, documents, connectors."""
