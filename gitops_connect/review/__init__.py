"""Reviews of pull requests: their plans, comments, approvals, and what became of them after the merge."""
