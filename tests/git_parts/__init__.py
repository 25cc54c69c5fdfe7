"""Real git for tests: repositories that are made with plumbing, and a server that speaks git's HTTP and has faults."""
