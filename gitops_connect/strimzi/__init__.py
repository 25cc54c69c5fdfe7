"""Reads the resources of Strimzi as documents. No side effects."""
