"""Checks the addresses in settings before a library gets them: some libraries fail with errors of their own."""

from __future__ import annotations

from urllib.parse import urlsplit

_LONGEST = 253


def is_http_url(url: str) -> bool:
    """Whether this is an http(s) URL with a host that can be looked up, and with a port from 1 to 65535, if any."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def is_host(host: str) -> bool:
    """Whether this can be a host name or an IP address. A name in another alphabet has to be written as `xn--…`."""
    labels = host.removesuffix(".").split(".")
    return host.isascii() and host.isprintable() and len(host) <= _LONGEST and all(0 < len(one) < 64 for one in labels)
