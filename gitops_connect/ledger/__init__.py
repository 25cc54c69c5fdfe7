"""What must be remembered from one cycle to the next, in a database: ownership, revisions and leases."""
