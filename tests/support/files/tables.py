"""Tables of cases in a YAML file next to the test that reads them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


def table(test: str, name: str) -> Any:
    """One table. `test` is the `__file__` of the test."""
    return read_yaml(Path(test).with_suffix(".yaml"))[name]


def rows(test: str, name: str) -> list[Any]:
    """The rows of one table; a row with several cells is a tuple."""
    return [tuple(row) if isinstance(row, list) else row for row in table(test, name)]


def cases(test: str, name: str = "") -> list[dict[str, Any]]:
    """The cases of the test's YAML file, or of the file `name` next to it.

    A case with `rows` is one case for each row, which adds to it.
    """
    file = Path(test).with_name(name) if name else Path(test).with_suffix(".yaml")
    return [{**case, **row} for case in read_yaml(file) for row in case.get("rows", [{}])]


@cache
def read_yaml(file: Path) -> Any:
    """The content of a YAML file. The parser in Python takes ten times as long, but reads half of a surrogate pair."""
    text = file.read_text(encoding="utf-8")
    return yaml.safe_load(text) if r"\ud" in text.lower() else yaml.load(text, yaml.CSafeLoader)
