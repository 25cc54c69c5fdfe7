"""One test suite for the stand-in, for the cluster of the simulation, and for a real Connect worker."""
