"""JSON of the Connect REST API <-> model, as pure functions."""
