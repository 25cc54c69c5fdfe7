"""A stand-in for Kafka Connect: the same HTTP and the same rules in this process, and faults on demand.

It is held to the real one by tests/contract, which runs over both.
"""
