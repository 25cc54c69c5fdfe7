"""One suite over the stand-in and the real Connect: what both do is what the client may rely on."""
