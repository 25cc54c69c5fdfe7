"""The names of the connectors that an invalid `KafkaMirrorMaker2` declares, so that only these are blocked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.model.documents import Pointer
from gitops_connect.model.names import ConnectorName


@dataclass(frozen=True, slots=True)
class DeclaredNames:
    """The field that declares each connector. `complete` is False if a declared connector could not be named."""

    fields: Mapping[ConnectorName, Pointer]
    complete: bool


def declared_names(spec: Any, classes: Mapping[str, str]) -> DeclaredNames:
    """The names in a `spec` that need not be valid. `classes` has the class for each field of a mirror."""
    mirrors = _get(spec, "mirrors")
    if not isinstance(mirrors, list):
        return DeclaredNames({}, complete=False)
    fields: dict[ConnectorName, Pointer] = {}
    complete = True
    for index, mirror in enumerate(mirrors):
        source = _alias(_get(mirror, "source"), _get(mirror, "sourceCluster"))
        target = _alias(_get(spec, "target"), _get(mirror, "targetCluster"), _get(spec, "connectCluster"))
        for key in _present(mirror, classes):
            if source is None or target is None:
                complete = False
                continue
            name = ConnectorName(f"{source}->{target}.{classes[key].rpartition('.')[2]}")
            fields[name] = ("spec", "mirrors", index, key)
    return DeclaredNames(fields, complete)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _present(mirror: Any, keys: Iterable[str]) -> list[str]:
    return [key for key in keys if _get(mirror, key) is not None]


def _alias(cluster: Any, *names: Any) -> str | None:
    """The alias of a cluster, else the first of the names that is one."""
    return next((one for one in (_get(cluster, "alias"), *names) if isinstance(one, str) and one), None)
