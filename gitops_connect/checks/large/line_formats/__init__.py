"""The formats that lines of one manifest have, and the fast path for lines that match one exactly."""
