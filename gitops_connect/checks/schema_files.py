"""The place of the published schemas: inside an installed package, or at the top of a checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gitops_connect

_PACKAGE = Path(gitops_connect.__file__).parent


def schema_directory() -> Path:
    """The directory of `*.schema.json`. A wheel contains it inside the package (`force-include` in pyproject.toml)."""
    inside = _PACKAGE / "schemas"
    return inside if inside.is_dir() else _PACKAGE.parent / "schemas"


def read_schema(name: str) -> dict[str, Any]:
    """The schema of that name, for example `connector`."""
    schema: dict[str, Any] = json.loads((schema_directory() / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema
