"""Tables of cases, in a YAML file with the name of the test that reads them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


def rows(test: str, table: str) -> list[Any]:
    """The rows of one table. `test` is the `__file__` of the test."""
    return [tuple(row) if isinstance(row, list) else row for row in _tables(test)[table]]


@cache
def _tables(test: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = yaml.safe_load(Path(test).with_suffix(".yaml").read_text(encoding="utf-8"))
    return found
