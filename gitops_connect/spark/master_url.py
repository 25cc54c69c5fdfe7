"""The Spark master that `[spark]` names: its kind and its addresses."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from gitops_connect.errors import UsageError

_LOCAL = re.compile(r"local(?:\[(?:\*|[1-9]\d*)(?:,\d+)?\])?")
_ADDRESS = re.compile(r"(?P<host>[^\s:/,\[\]]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")
_LOOPBACK = re.compile(r"localhost|127(?:\.\d+){3}|\[::1\]")
_CONNECT_PORT = 15002
_KNOWN = "local[*], local[4], spark://HOST:PORT, yarn, k8s://https://HOST:PORT or sc://HOST:PORT"


class MasterKind(Enum):
    LOCAL = "local"
    STANDALONE = "standalone"
    MANAGED = "managed"
    """YARN or Kubernetes: they decide which machine runs what."""
    CONNECT = "connect"


@dataclass(frozen=True, slots=True)
class Master:
    """A master. `shown` is safe to print: the URL of a Connect server can contain a token."""

    kind: MasterKind
    shown: str
    addresses: tuple[tuple[str, int], ...] = ()

    @property
    def is_here(self) -> bool:
        """True if all of it is on this machine, and so sees the same files."""
        return self.kind is MasterKind.LOCAL or (
            bool(self.addresses) and all(_LOOPBACK.fullmatch(host) for host, _ in self.addresses)
        )

    def answers(self) -> bool:
        """Whether an address accepts connections; True if no address is known."""
        for host, port in self.addresses:
            with contextlib.suppress(OSError), socket.create_connection((host.strip("[]"), port), timeout=3):
                return True
        return not self.addresses


def master_of(text: str) -> Master:
    """The master that `[spark] master` names. Raises UsageError."""
    scheme, _, rest = text.partition("://")
    if _LOCAL.fullmatch(text):
        return Master(MasterKind.LOCAL, text)
    if text == "yarn" or (scheme == "k8s" and rest):
        return Master(MasterKind.MANAGED, text)
    if scheme == "spark" and (addresses := _addresses(rest.split(","), None)):
        return Master(MasterKind.STANDALONE, text, addresses)
    where = re.split("[/;]", rest, maxsplit=1)[0]
    if scheme == "sc" and (addresses := _addresses([where], _CONNECT_PORT)):
        return Master(MasterKind.CONNECT, f"sc://{where}", addresses)
    shown = re.split("[;@]", text, maxsplit=1)[0]
    raise UsageError(f"[spark] master: expected {_KNOWN}, found {shown!r}")


def _addresses(texts: Sequence[str], port: int | None) -> tuple[tuple[str, int], ...]:
    """The addresses in `host:port`, or `host` if there is a default port; empty if one of them is invalid."""
    found = [address for text in texts if (address := _ADDRESS.fullmatch(text)) and (address["port"] or port)]
    return tuple((one["host"], int(one["port"] or port or 0)) for one in found) if len(found) == len(texts) else ()
