"""Whatever is committed, dies, fails or is done by hand, in whatever order: each change takes effect once."""
