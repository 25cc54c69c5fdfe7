"""Sinks that write objects to S3, Google Cloud Storage and Azure Blob Storage. `facts.yaml` has the facts."""
