"""A real one-node Kafka and Connect on this machine, as child processes."""
