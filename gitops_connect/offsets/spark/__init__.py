"""Checks offset manifests with millions of entries on Spark: splits, parse, join, verdict."""
