"""A GitOps reconciler for Kafka Connect: connectors declared in Git, planned, applied."""

__version__ = "0.1.0"
DISTRIBUTION = "gitops-connect"
"""What the user has installed, for `pip install` in messages. deploy/lean_project.py replaces the name."""
