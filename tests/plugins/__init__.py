"""Connectors that behave on purpose as few others do, in Java, and what compiles them on the spot."""
