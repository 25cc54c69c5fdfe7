"""A stand-in for Kafka Connect: the same HTTP and the same rules in this process, and faults on demand.

tests/contract runs with both, so that the stand-in behaves like the real one. The simulation uses the same rules.
"""
