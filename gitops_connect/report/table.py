"""Rows as an aligned table, JSON or YAML: what `get`, `describe` and `status` print."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """kubectl's look: capitals, three blanks between columns, nothing drawn."""
    everything = [list(headers), *map(list, rows)]
    widths = [max(len(row[column]) for row in everything) for column in range(len(headers))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in everything]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_json(value: Any) -> str:
    """Indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def as_yaml(value: Any) -> str:
    """Block YAML, keys in the order given."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def outline(value: Mapping[str, Any]) -> str:
    """A mapping as kubectl describes things: `Key:  value`, nested ones indented."""
    return "\n".join(_outline(value, "")) + "\n"


def _outline(value: Mapping[str, Any], indent: str) -> list[str]:
    width = max((len(str(key)) for key in value), default=0) + 1
    lines = []
    for key, item in value.items():
        label = f"{indent}{str(key) + ':':<{width}}"
        if isinstance(item, Mapping) and item:
            lines += [label.rstrip(), *_outline(item, indent + "  ")]
        elif isinstance(item, list) and item:
            lines += [label.rstrip(), *(line for one in item for line in _item(one, indent + "  "))]
        else:
            lines.append(f"{label} {_scalar(item)}")
    return lines


def _item(item: Any, indent: str) -> list[str]:
    if isinstance(item, Mapping):
        first, *rest = _outline(item, indent + "  ")
        return [f"{indent}- {first.strip()}", *rest]
    return [f"{indent}- {item}"]


def _scalar(item: Any) -> str:
    if item is None or item in ([], {}):
        return "-"
    return str(item).replace("\n", "\n    ")
