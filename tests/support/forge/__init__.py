"""A forge in memory."""
