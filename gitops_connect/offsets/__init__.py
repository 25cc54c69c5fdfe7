"""Offset manifests: their formats, the rules for their entries, and the check of large manifests on Spark."""
