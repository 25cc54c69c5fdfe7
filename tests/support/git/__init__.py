"""Real Git for tests: repositories made with plumbing commands, and a smart HTTP server with injected faults."""
