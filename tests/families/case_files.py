"""The cases of each family, as data: `gitops_connect/families/*/cases.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.files.manifests import entry
from support.files.tables import read_yaml

from gitops_connect import families

FILES = [read_yaml(file) for file in sorted(Path(families.__file__).parent.glob("*/cases.yaml"))]


def cases(kind: str) -> list[list[Any]]:
    return [case for file in FILES for case in file.get(kind, ())]


def cases_with_config(kind: str, at: int) -> list[list[Any]]:
    """The same, with the config that is named in column `at`, alone or with further keys."""
    return [
        [*case[:at], _config(case[at], file["configs"]), *case[at + 1 :]]
        for file in FILES
        for case in file.get(kind, ())
    ]


def entries(kind: str, at: int) -> list[list[Any]]:
    """The same, with the partition and the offset after the config as an entry."""
    return [[*case[: at + 1], entry(*case[at + 1 : at + 3]), *case[at + 3 :]] for case in cases_with_config(kind, at)]


def _config(named: str | Mapping[str, Any], known: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    if isinstance(named, str):
        return known[named]
    name = next(iter(named), "")
    return {**known[name], **named[name]} if name in known else named
