"""Parts of a runtime that report each step before it begins: the places to die at.

The moment after a step equals the moment before the next one, because nothing is stored in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, cast

from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.runtime import Runtime

Tell = Callable[[str], None]

_LISTS = frozenset({"names", "absent", "await_herder", "connectors", "plugins"})
LOOKS = _LISTS | {"info", "validate", "sensitive_keys", "conceal", "cluster", "close"}
LEDGER_LOOKS = frozenset({"ownership", "revisions", "lease", "key", "export", "close", "together"})
OPERATION_LOOKS = frozenset({"records", "saved", "declared", "snapshot"})
"""Methods that change nothing. All others are reported, also those that read offsets: much depends on these."""


def watch_method(owner: type, method: str, before: Callable[..., object]) -> None:
    """Call `before`, with the arguments, before each call of the method."""
    real = getattr(owner, method)

    def watched(*arguments: Any, **more: Any) -> Any:
        before(*arguments)
        return real(*arguments, **more)

    setattr(owner, method, watched)


class Watched:
    """A proxy of another object: `tell` gets the name of each called method that is not in `looks`."""

    def __init__(self, part: object, looks: frozenset[str], tell: Tell) -> None:
        self._part = part
        self._looks = looks
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name in self._looks or not callable(found):
            return found

        @wraps(found)
        def watched(*args: Any, **more: Any) -> Any:
            self._tell(name)
            return found(*args, **more)

        return watched


class WatchedClient(Watched):
    def __init__(self, part: ConnectClient, tell: Tell) -> None:
        super().__init__(part, LOOKS, tell)
        self.guarded_by = lambda permit: WatchedClient(part.guarded_by(permit), tell)


class WatchedLedger(Watched):
    def __init__(self, part: Ledger, tell: Tell) -> None:
        super().__init__(part, LEDGER_LOOKS, tell)
        self.offset_changes = Watched(part.offset_changes, OPERATION_LOOKS, tell)
        self.under = lambda lease: WatchedLedger(part.under(lease), tell)


def watch(runtime: Runtime, tell: Tell) -> Runtime:
    """The same runtime with watched clients and ledger. Some steps run in threads."""
    clients = {name: cast(ConnectClient, WatchedClient(client, tell)) for name, client in runtime.clients.items()}
    return replace(runtime, clients=clients, ledger=cast(Ledger, WatchedLedger(runtime.ledger, tell)))
