"""documents -> diagnostics: the published JSON Schemas, and Connect's own validation."""
