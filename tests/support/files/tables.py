"""Tables of cases in a YAML file next to the test that reads them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


def table(test: str, name: str) -> Any:
    """One table. `test` is the `__file__` of the test."""
    return _read(Path(test).with_suffix(".yaml"))[name]


def rows(test: str, name: str) -> list[Any]:
    """The rows of one table; a row with several cells is a tuple."""
    return [tuple(row) if isinstance(row, list) else row for row in table(test, name)]


def cases(test: str, name: str = "") -> list[dict[str, Any]]:
    """The cases of the test's YAML file, or of the file `name` next to it.

    A case with `rows` is one case for each row, which adds to it.
    """
    file = Path(test).with_name(name) if name else Path(test).with_suffix(".yaml")
    return [{**case, **row} for case in _read(file) for row in case.get("rows", [{}])]


@cache
def _read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))
