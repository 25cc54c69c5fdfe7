"""The address of the server in the settings, and whether the settings are safe for it."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from gitops_connect.errors import UsageError
from gitops_connect.settings.sections import ServerSettings, is_host

SHORTEST_TOKEN = 16
"""Characters. Anyone who reaches the server may try tokens."""
_LISTEN = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\s/]+)):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """An address to listen on; port 0 is any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The URL for a client on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - it is not bound here
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def address_of(listen: str) -> ListenAddress:
    """The address that `[server] listen` names. Raises UsageError."""
    found = _LISTEN.fullmatch(listen)
    if found is None or int(found["port"]) > 65535 or not is_host(found["v6"] or found["name"]):
        raise UsageError(f'[server] listen: expected an address and a port such as "127.0.0.1:8080", found {listen!r}')
    return ListenAddress(found["v6"] or found["name"], int(found["port"]))


def require_safe(settings: ServerSettings, address: ListenAddress) -> None:
    """Raise UsageError if other machines could read without permission, or if a secret is missing or too short."""
    secrets = {"token": settings.token, "read_token": settings.read_token, "webhook_secret": settings.webhook_secret}
    for name, credential in secrets.items():
        if credential is not None and len(credential.read()) < SHORTEST_TOKEN:
            raise UsageError(
                f"[server] {name}: expected at least {SHORTEST_TOKEN} characters; create a random secret, for example"
                " with `openssl rand -hex 32`"
            )
    if settings.read_token is None and not settings.anonymous_read and not address.is_loopback:
        raise UsageError(
            f"[server] listen: other machines can reach {address.host}; set read_token, the token that is required to"
            " read, or set anonymous_read = true if everyone who reaches the server may read"
        )


def open_socket(address: ListenAddress) -> socket.socket:
    """A socket that listens on the address. Raises UsageError, for example if the port is in use."""
    try:
        family, _, _, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"[server] listen: cannot listen on {address.host}: {error.strerror or error}") from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(place)
        opened.listen(128)
    except OSError as error:
        opened.close()
        where = f"{address.host}:{address.port}"
        raise UsageError(f"[server] listen: cannot listen on {where}: {error.strerror or error}") from error
    return opened
