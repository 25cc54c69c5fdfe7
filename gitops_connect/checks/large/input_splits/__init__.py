"""Files of manifests, cut into splits that Spark tasks read."""
