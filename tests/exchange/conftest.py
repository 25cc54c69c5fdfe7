"""A user's directory with a stand-in, as the tests of the command line have it."""

from __future__ import annotations

from cli.conftest import at, standin

__all__ = ["at", "standin"]
