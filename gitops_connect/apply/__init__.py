"""a plan -> effects on a Connect cluster, and what became of each."""
