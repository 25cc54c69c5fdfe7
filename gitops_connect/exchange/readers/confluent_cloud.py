"""Configs of connectors that Confluent Cloud manages, as those of the same plugins on other workers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from gitops_connect.documents.fields import CLASS
from gitops_connect.exchange.declarations import ConnectorDeclaration
from gitops_connect.exchange.readers.reading import Findings
from gitops_connect.model.findings import word_or_kind

_TABLE = tomllib.loads(files("gitops_connect.exchange.readers").joinpath("confluent_cloud.toml").read_text("utf-8"))
_PLUGINS: Mapping[str, Mapping[str, Any]] = {name: row for row in _TABLE["plugin"] for name in row["managed"]}
_PREFIX = "confluent."
"""Keys such as `confluent.custom.plugin.id`: they say how Confluent Cloud runs the connector."""


def translate(draft: ConnectorDeclaration, findings: Findings) -> None:
    """Replace a managed class, and the keys that its plugin does not have. The class of a custom plugin is kept."""
    managed = draft.config.get(CLASS, "")
    row = _PLUGINS.get(managed, {})
    if not row and "." not in managed and CLASS in draft.config:
        summary = (
            f"only Confluent Cloud has the class {word_or_kind(managed)}: no plugin is known that reads its config"
        )
        findings.error("convert/class", summary, draft.locate(CLASS), "write a config for a plugin of your workers")
        return
    known = {*_TABLE["left_out"], *row.get("left_out", ())}
    rest = sorted(key for key in {**draft.config, **draft.unknown} if key in known or key.startswith(_PREFIX))
    for key in rest:
        draft.config.pop(key, None)
        draft.unknown.pop(key, None)
    if rest:
        summary = f"only Confluent Cloud has {', '.join(map(repr, rest))}: left out"
        hint = "set key.converter and value.converter if the workers have other ones, and check what the rest meant"
        findings.warning("convert/unknown-field", summary, draft.location, hint)
    draft.config.update({CLASS: row.get("class", managed), **row.get("set", {})} if managed else {})
    missing = [key for key in row.get("missing", ()) if key not in draft.config and key not in draft.unknown]
    draft.unknown.update(dict.fromkeys(missing, ""))
