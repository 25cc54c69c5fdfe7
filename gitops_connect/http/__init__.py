"""HTTP with limits: the whole time of a request, the bytes and the depth of its answer; no redirect is followed."""
