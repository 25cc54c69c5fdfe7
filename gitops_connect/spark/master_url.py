"""The Spark master that `[spark]` names: its kind, its addresses, and the directory that it shares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gitops_connect.errors import UsageError
from gitops_connect.settings.sections import SparkSettings

EVERYWHERE = {
    "spark.sql.adaptive.enabled": "false",  # it replans after each stage, which does not help with two stages
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # a row is a column of a block: some MiB
}
"""The options of every session, on any master."""
_LOCAL = re.compile(r"local(?:\[(?:\*|[1-9]\d*)(?:,\d+)?\])?")
_ADDRESS = re.compile(r"(?P<host>[^\s:/,\[\]]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")
_LOOPBACK = re.compile(r"localhost|127(?:\.\d+){3}|\[::1\]")
_CONNECT_PORT = 15002
_KNOWN = "local[*], local[4], spark://HOST:PORT, yarn, k8s://https://HOST:PORT or sc://HOST:PORT"


class MasterKind(Enum):
    """The kinds of Spark masters."""

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


def master_of(text: str) -> Master:
    """The master that `[spark] master` names. Raises UsageError."""
    scheme, separator, rest = text.partition("://")
    if _LOCAL.fullmatch(text):
        return Master(MasterKind.LOCAL, text)
    if text == "yarn" or (scheme == "k8s" and rest):
        return Master(MasterKind.MANAGED, text)
    if separator and scheme == "spark":
        addresses = _addresses(rest, None)
        if addresses:
            return Master(MasterKind.STANDALONE, text, addresses)
    if separator and scheme == "sc":
        where = re.split("[/;]", rest, maxsplit=1)[0]
        addresses = _addresses(where, _CONNECT_PORT)
        if len(addresses) == 1:
            return Master(MasterKind.CONNECT, f"sc://{where}", addresses)
    shown = re.split("[;@]", text, maxsplit=1)[0]
    raise UsageError(f"[spark] master: expected {_KNOWN}, found {shown!r}")


def _addresses(text: str, port: int | None) -> tuple[tuple[str, int], ...]:
    """The addresses in `host:port`, separated by commas; empty if one of them is invalid."""
    found = []
    for part in text.split(","):
        address = _ADDRESS.fullmatch(part)
        if address is None or (address["port"] is None and port is None):
            return ()
        found.append((address["host"], int(address["port"] or port or 0)))
    return tuple(found)


def shared_folder(settings: SparkSettings, cache: Path) -> Path:
    """The directory for staged manifests and patches. `cache` is the user's cache directory.

    Raises UsageError if Spark runs on other machines, and no shared directory is configured.
    """
    if settings.directory is not None:
        return settings.directory
    master = master_of(settings.master)
    if master.is_here:
        return cache / "spark"
    raise UsageError(
        f"Spark runs on other machines ({master.shown}) and reads manifests from a directory that it shares with this"
        ' process: set [spark] directory = "/…", the same path on all machines'
    )
