"""The page of settings: meanings from the docstrings of the fields, the example from gitops-connect.toml."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from generated_tables import NOTICE, cell

from gitops_connect.connect.worker_heap import size_text
from gitops_connect.settings import sections

EXAMPLE = Path(__file__).parent / "gitops-connect.toml"
_DAY = 24 * 3600
_NO_VARIABLE = (
    "Mapping[str, Credential]",
    "Mapping[str, str]",
    "Mapping[str, DatabaseSettings]",
    "Mapping[str, KafkaSettings]",
    "SkipSettings",
    "WorkerSettings",
)
SETTINGS_INTRODUCTION = """\
gitops-connect reads one settings file, in TOML: the one that `--config FILE` names, otherwise the one that the variable
`GITOPS_CONNECT_CONFIG` names, otherwise `gitops-connect.toml` in the current directory. Relative paths start from the
directory of the settings file.

Only the `url` of a cluster is required, and both settings of a database. Commands that read the repository also need
`[repository] url`, or a directory as an argument.

| type | how to write it |
| --- | --- |
| string | `"main"` |
| path | a string; `~` is your home directory |
| number | `8`, or `0.3` for a fraction |
| duration | `"30s"`, `"5m"`, `"1m30s"`, `"500ms"`, or a number of seconds |
| size | `"2GiB"`, `"512MiB"`, or a number of bytes |
| credential | `{env = "NAME"}` or `{file = "PATH"}`; read whenever it is used |
| list | `["a", "b"]` |

## Environment variables

An environment variable takes precedence over the settings file. Its name is `GITOPS_CONNECT_` and the path of the
setting in capitals, with two underscores between the parts. The tables below list all of them. Replace `NAME` by the
name of the cluster; gitops-connect reads it in lower case.

| type | value of the variable |
| --- | --- |
| list | the items, separated by commas |
| credential | the secret itself; with `__ENV` or `__FILE` after the name: the variable or file that contains it |
| table | write it in the settings file |

## Example with all settings

"""
TYPES = {
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
    sections.ForgeSettings: "forge",
    sections.NotificationSettings: "notifications",
    sections.StrimziSettings: "strimzi",
}


def settings() -> str:
    """The settings file: an example of all settings, and a table for each section."""
    example = EXAMPLE.read_text(encoding="utf-8")
    lines = ["# Settings", "", NOTICE, f"{SETTINGS_INTRODUCTION}```toml\n{example}```", ""]
    for cls, name in TABLES.items():
        lines += [
            f"## `[{name}]`",
            "",
            _sentence(inspect.getdoc(cls) or ""),
            "",
            "| setting | meaning | type | default | environment variable |",
            "| --- | --- | --- | --- | --- |",
        ]
        documented = _field_docs(cls)
        for field in dataclasses.fields(cls):
            if field.name != "name":
                cells = (cell(documented.get(field.name, "")), _type(cls, field), _field_default(field))
                lines.append(f"| `{field.name}` | {' | '.join(cells)} | {_variable(name, field)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _variable(table: str, field: Any) -> str:
    if field.type in _NO_VARIABLE:
        return ""
    path = "__".join(part.upper() for part in [*table.split("."), field.name])
    return f"`GITOPS_CONNECT_{path}`"


def _type(cls: type, field: Any) -> str:
    """In the words of the introduction; the choices of an enumeration."""
    hint = typing.get_type_hints(cls)[field.name]
    hint = next((one for one in typing.get_args(hint) if isinstance(one, type) and issubclass(one, Enum)), hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{one.value}`" for one in hint)
    words = field.type.removesuffix(" | None")
    return TYPES.get(words, words.lower())


def _sentence(doc: str) -> str:
    text = doc.partition(": ")[2]
    return text[:1].upper() + text[1:]


def _field_docs(cls: type) -> dict[str, str]:
    """The text under each field of a dataclass."""
    body = ast.parse(inspect.getsource(cls)).body[0].body  # type: ignore[attr-defined]  # a class has a body
    return {
        field.target.id: text.value.value
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def _field_default(field: Any) -> str:
    if field.default is not dataclasses.MISSING:
        value = getattr(field.default, "value", field.default)
        if field.type == "Size":
            return f"`{size_text(value).replace(' ', '')}`"
        if field.type == "Duration":
            is_long = value >= _DAY and value % 3600 == 0
            return f"`{value // 3600:.0f}h`" if is_long else f"`{value:g}s`"
        if isinstance(value, tuple):
            return ", ".join(f"`{one}`" for one in value)
        return "" if value in (None, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    return "" if field.default_factory is not dataclasses.MISSING else "required"
