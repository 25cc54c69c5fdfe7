"""The list of all connectors with their configs and states, which most answers of an idle cluster repeat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from gitops_connect.connect import wire
from gitops_connect.http.decoding import decode
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector

_REPEATED = object()


class ConnectorList:
    """Parses the answers to `GET /connectors?expand=status&expand=info`, one after another.

    An answer that repeats the last one byte for byte is not parsed again.
    """

    def __init__(self) -> None:
        self._received = self._parsed = b""
        self._found: tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]] = {}, frozenset()

    def decode(self, body: bytes) -> Any:
        """The value for `parse`. Raises ValueError as `decoding.decode`."""
        self._received = hashlib.sha256(body).digest()
        return _REPEATED if self._received == self._parsed else decode(body)

    def parse(self, value: Any) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        """The connectors, and the names that cannot be read. Raises UnreadableAnswer."""
        if value is not _REPEATED:
            self._found = wire.parse_connectors(value)
            self._parsed = self._received
        return self._found
