"""A GitOps reconciler for Kafka Connect: connectors declared in Git, planned, applied."""

__version__ = "0.1.0"
