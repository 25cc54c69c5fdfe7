"""The OpenAPI document of the API, from `openapi.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from gitops_connect import __version__

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def document() -> Mapping[str, Any]:
    text = files("gitops_connect.server").joinpath("openapi.yaml").read_text(encoding="utf-8")
    found = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe
    return {
        "openapi": found["openapi"],
        "info": {**found["info"], "version": __version__},
        "servers": found["servers"],
        "security": found["security"],
        "paths": _closed(found["paths"]),
        "components": _closed(found["components"]),
    }


def _closed(schema: Any) -> Any:
    """The schema in which each object has exactly the properties that are listed."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if "properties" in schema:
        closed |= {"required": list(schema["properties"]), "additionalProperties": False}
    return closed
