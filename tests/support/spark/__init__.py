"""Real Sparks, and both engines for large manifests."""
