"""Converts the results of all tasks to verdicts, a file of violations, and the patches to send."""
