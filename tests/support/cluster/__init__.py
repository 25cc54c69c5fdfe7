"""A cluster, a journal and a clock in memory."""
