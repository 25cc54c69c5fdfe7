"""Partitions and texts as 128-bit hashes, computed for many rows at once."""
