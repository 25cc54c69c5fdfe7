"""Converts the results of all tasks to verdicts and the patches to send."""
