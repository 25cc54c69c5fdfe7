"""One test suite for the stand-in, the model of the simulation and a real Connect: we rely only on what all do."""
