"""Tests that must pass on the stand-in, on the simulated cluster and on a real worker."""
