"""A plan -> its effects on a cluster, each one seen to have happened."""
