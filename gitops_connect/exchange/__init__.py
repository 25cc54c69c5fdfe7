"""Import and convert: connectors of a cluster or of other tools become documents, Strimzi resources or JSON."""
