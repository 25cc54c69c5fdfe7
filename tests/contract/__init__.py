"""One test suite for the stand-in and a real Connect: the client relies only on what both do."""
