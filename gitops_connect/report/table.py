"""Rows as an aligned table, JSON or YAML: what `get`, `describe` and `status` print."""

from __future__ import annotations

import json
import re
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


_NUMBER_IN_YAML_1_2 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
"""PyYAML quotes what YAML 1.1 takes for a number; `1e5`, `08` and `0o17` are numbers in YAML 1.2 (section 10.3.2)."""


class _Dumper(yaml.SafeDumper):
    """Writes each string so that readers of YAML 1.1 and of YAML 1.2 take it for a string."""


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Without quotes, or in single ones, PyYAML writes U+0085 as it is, and YAML folds that as a line break.
    style = None if text.isprintable() else '"'
    if _NUMBER_IN_YAML_1_2.fullmatch(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _string)


def as_yaml(value: Any) -> str:
    """Block YAML, keys in the order given."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


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
