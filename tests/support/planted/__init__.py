"""Offset manifests with planted faults."""
