"""The outer join of declared and current offsets by partition, and what it finds."""
