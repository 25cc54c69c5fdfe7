"""desired and observed -> a plan, as a pure function."""
