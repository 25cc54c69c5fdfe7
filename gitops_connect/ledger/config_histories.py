"""The configs on trial and those that were rolled back, one JSON object for each connector.

A config contains no value of `spec.secrets`: only their references are stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select

from gitops_connect.ledger.database import Database, Write
from gitops_connect.ledger.tables import CONFIG_HISTORIES, upsert
from gitops_connect.model.canonical import canonical
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.rollbacks import ConfigHistory, ConfigTrial, DeclaredConfig, RolledBack


class ConfigHistories:
    """The table of config histories; its methods raise what those of `Ledger` raise."""

    def __init__(self, database: Database, write: Write) -> None:
        """`write` begins a transaction, under the lease of the ledger if it has one."""
        self._database = database
        self._write = write

    def histories(self, cluster: ClusterName) -> Mapping[ConnectorName, ConfigHistory]:
        """The history of each connector that has one."""
        query = select(CONFIG_HISTORIES).where(CONFIG_HISTORIES.c.cluster == cluster)
        with self._database.read() as connection:
            return {row.connector: _read(json.loads(row.history)) for row in connection.execute(query)}

    def record(self, cluster: ClusterName, changed: Mapping[ConnectorName, ConfigHistory]) -> None:
        """Replace these histories: all of them or none. Without any, nothing is written."""
        if not changed:
            return
        with self._write() as connection:
            for name, history in changed.items():
                key = {"cluster": cluster, "connector": name}
                upsert(connection, CONFIG_HISTORIES, key, {"history": canonical(_value(history)).decode()})


def is_config_history(text: Any) -> bool:
    """Whether the text is what `record` has written."""
    try:
        _read(json.loads(text))
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
        return False
    return True


def _value(history: ConfigHistory) -> dict[str, Any]:
    healthy, trial, back = history.healthy, history.trial, history.rolled_back
    return {
        "healthy": healthy and {"config": dict(healthy.config), "secrets": dict(healthy.secrets)},
        "trial": trial
        and {
            "digest": trial.digest,
            "revision": trial.revision,
            "since": trial.since.isoformat(),
            "was_healthy": trial.was_healthy,
        },
        "rolled_back": back
        and {
            "digest": back.digest,
            "revision": back.revision,
            "reason": back.reason,
            "keys": list(back.keys),
            "at": back.at.isoformat(),
        },
    }


def _read(value: dict[str, Any]) -> ConfigHistory:
    healthy, trial, back = value["healthy"], value["trial"], value["rolled_back"]
    secrets = {key: (kind, name) for key, (kind, name) in healthy["secrets"].items()} if healthy else {}
    since = {"since": datetime.fromisoformat(trial["since"])} if trial else {}
    at = {"keys": tuple(back["keys"]), "at": datetime.fromisoformat(back["at"])} if back else {}
    return ConfigHistory(
        DeclaredConfig(healthy["config"], secrets) if healthy else None,
        ConfigTrial(**{**trial, **since}) if trial else None,
        RolledBack(**{**back, **at}) if back else None,
    )
