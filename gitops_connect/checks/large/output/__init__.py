"""The results of all tasks -> verdicts, a file of violations, and the patches to send."""
