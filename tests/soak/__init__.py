"""`make soak`: random changes and random kills for some minutes, and then the check that all is as declared."""
