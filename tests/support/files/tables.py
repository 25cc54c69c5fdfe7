"""Tables of cases as data: the YAML file of a test module lies next to it and has the same name."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def _read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def table(test: str, name: str) -> Any:
    """The rows of one table, for the test module `test` (`__file__`)."""
    return _read(Path(test).with_suffix(".yaml"))[name]
