"""Contract tests for the stand-in, the simulated cluster and a real Connect worker."""
