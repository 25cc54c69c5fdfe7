"""Checks documents: the published JSON Schemas, and Connect's own validation."""
