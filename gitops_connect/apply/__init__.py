"""Carries out a plan on a cluster and observes the effect of each step."""
