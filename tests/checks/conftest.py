"""The stand-in, a clock that does not wait, and clients."""

from standin.fixtures import client, clock, make_client, standin

__all__ = ["client", "clock", "make_client", "standin"]
