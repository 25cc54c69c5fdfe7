"""A Spark session: the driver, remote sessions, executors, and their errors. Nothing here knows offset manifests."""
