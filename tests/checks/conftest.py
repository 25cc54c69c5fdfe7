"""The stand-in, a clock on which nobody waits, and clients."""

from standin.fixtures import client, clock, make_client, standin

__all__ = ["client", "clock", "make_client", "standin"]
