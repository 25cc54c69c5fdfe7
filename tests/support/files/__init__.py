"""Documents, resources and expected outputs."""
