"""What is remembered between cycles: ownership, leases."""
