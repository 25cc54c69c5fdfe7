"""What a reconciliation knows, checks and records of offset changes."""
