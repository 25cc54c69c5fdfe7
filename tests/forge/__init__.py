"""Forges: a contract for all of them, on a real Gitea and on published descriptions."""
