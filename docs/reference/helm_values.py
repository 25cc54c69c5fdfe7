"""The values of the Helm chart: their page, from the comments of values.yaml, and the schema of `settings`."""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from generated_tables import NOTICE, cell

from gitops_connect.model.clock import Duration
from gitops_connect.model.strimzi import StrimziVersion
from gitops_connect.settings.coerce import POSITIVE, Size
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import NotificationSettings, Settings, SkipSettings

CHART = Path(__file__).parents[2] / "deploy" / "helm"
SCHEMA = CHART / "values.schema.json"
_CREDENTIAL = {"$ref": "#/definitions/credential"}
_SECRET_NAME = "(?i)(auth|credential|key|passw|secret|token)"  # noqa: S105 - a pattern for names
"""Names of headers and options whose value must be a credential."""
_SCALARS: Mapping[Any, dict[str, Any]] = {
    Duration: {"$ref": "#/definitions/duration"},
    Size: {"$ref": "#/definitions/size"},
    Credential: _CREDENTIAL,
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0, "maximum": 1},
}
_INNERMOST = re.compile(r"[{\[][^{}\[\]]*[}\]]")
"""An object or a list without others in it, which gets one line."""
_INTRODUCTION = """\
The [chart](../../deploy/helm) deploys `gitops-connect run` ([run in Kubernetes](../how-to/run-in-kubernetes.md)). A
value that cannot work is an error of `helm template`, `install` and `upgrade`, which names its path and what is
allowed.

`settings` is the [settings file](settings.md), with the same names. The chart writes it as TOML. Differences:

- `settings.repository.url`, and a cluster in `settings.clusters`, are required.
- A credential is `{file: …}` or `{env: …}`, never the secret itself. A header or a Spark option whose name suggests a
  secret, and a target of notifications, must be a credential too.
- A version of Strimzi is a string: `"1.2"`.

| value | meaning | default |
| --- | --- | --- |
"""


def schema() -> str:
    """values.schema.json, with the part for `settings` from the code. The other parts are written by hand."""
    written = json.loads(SCHEMA.read_text(encoding="utf-8"))
    hints = typing.get_type_hints(Settings)
    names = [
        one.name for one in dataclasses.fields(Settings) if one.name not in ("directory", "file", "chooses_ledger")
    ]
    sections = {name: _schema_of(hints[name]) for name in names}
    sections["repository"]["required"] = ["url"]
    sections["repository"]["properties"]["url"]["minLength"] = 1
    sections["state"]["required"] = ["url"]
    sections["clusters"] |= {"minProperties": 1, "propertyNames": {"pattern": r"^[\w.-]{1,253}$"}}
    written["properties"]["settings"] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["repository", "state", "clusters"],
        "properties": sections,
    }
    text = json.dumps(written, indent=2)
    return _INNERMOST.sub(lambda found: " ".join(found[0].split()), text) + "\n"


def _schema_of(hint: Any) -> dict[str, Any]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(option for option in typing.get_args(hint) if option is not type(None))
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint is not StrimziVersion:
        return _table(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [one.value for one in hint]}
    if typing.get_origin(hint) is tuple:
        return {"type": ["array", "string"], "items": _schema_of(typing.get_args(hint)[0])}
    if typing.get_origin(hint) is not None:
        return _mapping(typing.get_args(hint)[1])
    return {"type": "string"}  # also paths, and the version of Strimzi


def _table(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    found: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
    for field in dataclasses.fields(cls):
        if field.name == "name":
            continue
        found["properties"][field.name] = one = _schema_of(hints[field.name])
        if field.metadata == POSITIVE and one.get("type") == "integer":
            one["minimum"] = 1
        if field.default is field.default_factory is dataclasses.MISSING:
            found.setdefault("required", []).append(field.name)
    if cls is SkipSettings:
        found["type"] = ["object", "integer"]
    if cls is NotificationSettings:
        found["properties"]["targets"] = {"type": "object", "additionalProperties": _CREDENTIAL}
    return found


def _mapping(value: Any) -> dict[str, Any]:
    if value is not Credential:
        return {"type": "object", "additionalProperties": _schema_of(value)}
    return {
        "type": "object",
        "patternProperties": {_SECRET_NAME: _CREDENTIAL},
        "additionalProperties": {"$ref": "#/definitions/stringOrCredential"},
    }


def page() -> str:
    """Each value with the comment above it and its default."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    rows = "".join(
        f"| `{path}` | {cell(comment)} | {f'`{default}`' if default else ''} |\n"
        for path, comment, default in _values(yaml.compose(text), text.splitlines(), "")
    )
    return f"# Values of the Helm chart\n\n{NOTICE}\n{_INTRODUCTION}{rows}"


def _values(node: Any, lines: list[str], parent: str) -> Iterator[tuple[str, str, str]]:
    for key, value in node.value:
        at = key.start_mark.line
        comment = re.search(r"(?:^ *# .*\n)+\Z", "".join(f"{line}\n" for line in lines[:at]), re.MULTILINE)
        words = re.sub(r"^ *# ", "", comment[0] if comment else "", flags=re.MULTILINE)
        documented = isinstance(value, yaml.MappingNode) and value.value and lines[at + 1].lstrip().startswith("#")
        default = "" if documented else json.dumps(yaml.safe_load(yaml.serialize(value)))
        yield f"{parent}{key.value}", words, "" if default == "null" else default
        if documented:
            yield from _values(value, lines, f"{parent}{key.value}.")
