"""A stand-in for Kafka Connect: the same HTTP and the same rules in this process, and faults on demand.

tests/contract compares it with a real worker. The simulation uses the same rules.
"""
