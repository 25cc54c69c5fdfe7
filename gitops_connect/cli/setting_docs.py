"""What each setting means, from the docstrings of the sections: for `explain`, and for the page of settings."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple

from gitops_connect.connect.worker_heap import size_text
from gitops_connect.settings import sections

_DAY = 24 * 3600
_TYPES = {
    "str": "string",
    "int": "number",
    "float": "fraction from 0 to 1",
    "bool": "`true`, `false`",
    "tuple[str, ...]": "list of strings",
    "tuple[Path, ...]": "list of paths",
    "Mapping[str, Credential]": "table of strings or credentials",
    "Mapping[str, str]": "table of strings",
    "Mapping[str, DatabaseSettings]": "table of tables",
    "Mapping[str, KafkaSettings]": "table of tables",
    "SkipSettings": "table, or a number",
    "WorkerSettings": "table",
    "KafkaSettings": "table",
    "StrimziVersion": "a version such as `1.2`",
}
TABLES = {
    sections.RepositorySettings: "repository",
    sections.StateSettings: "state",
    sections.ClusterSettings: "clusters.NAME",
    sections.SkipSettings: "clusters.NAME.max_skip",
    sections.DatabaseSettings: "clusters.NAME.databases.DATABASE",
    sections.WorkerSettings: "clusters.NAME.worker",
    sections.KafkaSettings: "clusters.NAME.kafka",
    sections.SecretsSettings: "secrets",
    sections.SparkSettings: "spark",
    sections.DaemonSettings: "daemon",
    sections.ServerSettings: "server",
    sections.NotificationSettings: "notifications",
    sections.ForgeSettings: "forge",
    sections.StrimziSettings: "strimzi",
}
"""The class of each section, and its name in the settings file."""


class SettingDoc(NamedTuple):
    """One setting. The texts are Markdown; `type` is in the words of docs/reference/settings.md."""

    name: str
    meaning: str
    type: str
    default: str
    variable: str


def described_settings(cls: type, section: str) -> Iterator[SettingDoc]:
    """Each setting of a section."""
    documented = _field_docs(cls)
    for field in dataclasses.fields(cls):
        if field.name != "name":
            meaning = " ".join(documented.get(field.name, "").split())
            yield SettingDoc(field.name, meaning, _type(cls, field), _default(field), _variable(section, field))


def section_meaning(cls: type) -> str:
    """What the section is about."""
    text = (inspect.getdoc(cls) or "").partition(": ")[2]
    return text[:1].upper() + text[1:]


def _variable(table: str, field: Any) -> str:
    if _TYPES.get(_words(field), "").startswith("table"):
        return ""
    path = "__".join(part.upper() for part in [*table.split("."), field.name])
    return f"`GITOPS_CONNECT_{path}`"


def _type(cls: type, field: Any) -> str:
    """In the words of the introduction; the choices of an enumeration."""
    hint = typing.get_type_hints(cls)[field.name]
    hint = next((one for one in typing.get_args(hint) if isinstance(one, type) and issubclass(one, Enum)), hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{one.value}`" for one in hint)
    return _TYPES.get(_words(field), _words(field).lower())


def _words(field: Any) -> str:
    return str(field.type).removesuffix(" | None")


def _field_docs(cls: type) -> dict[str, str]:
    """The text under each field of a dataclass."""
    body = ast.parse(inspect.getsource(cls)).body[0].body  # type: ignore[attr-defined]  # a class has a body
    return {
        field.target.id: text.value.value
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def _default(field: Any) -> str:
    if field.default is not dataclasses.MISSING:
        value = getattr(field.default, "value", field.default)
        if field.type == "Size":
            return f"`{size_text(value).replace(' ', '')}`"
        if field.type == "Duration":
            is_long = value >= _DAY and not divmod(value, 3600)[1]
            return f"`{value // 3600:.0f}h`" if is_long else f"`{value:g}s`"
        if isinstance(value, tuple):
            return ", ".join(f"`{one}`" for one in value)
        return "" if value in (None, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    return "" if field.default_factory is not dataclasses.MISSING else "required"
