"""Builders of what the planner gets and returns."""
