"""Rows as an aligned table, JSON or YAML: what `get`, `describe` and `status` print.

Every value may come from outside: in each format, characters that do not print are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from gitops_connect.report.printable import escaped, escaped_lines

_WIDEST = 250
"""Columns are not aligned for longer values: all other rows would become as long as the longest value."""
_CONTINUED = " " * 4
"""Additional indentation of each further line of a value, so that no such line looks like a key."""


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in kubectl's style: headers in capitals, three spaces between columns, no lines."""
    everything = [[escaped(cell) for cell in row] for row in (headers, *rows)]
    widths = [min(max(len(row[column]) for row in everything), _WIDEST) for column in range(len(headers))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in everything]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_json(value: Any) -> str:
    return escaped_lines(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


_NUMBER_IN_YAML_1_2 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
"""Numbers in YAML 1.2 only: `1e5`, `08` and `0o17` (section 10.3.2). PyYAML quotes only the numbers of YAML 1.1."""


class _Dumper(yaml.SafeDumper):
    """Writes each string so that readers of YAML 1.1 and of YAML 1.2 read a string."""


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Without quotes, or in single quotes, PyYAML writes U+0085 unchanged, and YAML folds it as a line break.
    style = None if text.isprintable() else '"'
    if _NUMBER_IN_YAML_1_2.fullmatch(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _string)


def as_yaml(value: Any) -> str:
    """Block YAML, keys in the order given."""
    # PyYAML writes some characters that are not printable unchanged. `_string` puts them in double quotes.
    return escaped_lines(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))


def outline(value: Mapping[str, Any]) -> str:
    """A mapping in the style of `kubectl describe`: `Key: value`, with nested mappings indented."""
    return "\n".join(_outline(value, "")) + "\n"


def _outline(value: Mapping[str, Any], indent: str) -> list[str]:
    keys = [escaped(str(key)) for key in value]
    width = min(max(map(len, keys), default=0), _WIDEST) + 1
    lines = []
    for key, item in zip(keys, value.values(), strict=True):
        label = f"{indent}{key + ':':<{width}}"
        if isinstance(item, Mapping) and item:
            lines += [label.rstrip(), *_outline(item, indent + "  ")]
        elif isinstance(item, list) and item:
            lines += [label.rstrip(), *(line for one in item for line in _item(one, indent + "  "))]
        else:
            lines.append(f"{label} {_scalar(item, indent)}")
    return lines


def _item(item: Any, indent: str) -> list[str]:
    if isinstance(item, Mapping):
        first, *rest = _outline(item, indent + "  ")
        return [f"{indent}- {first.strip()}", *rest]
    return [f"{indent}- {_scalar(item, indent)}"]


def _scalar(item: Any, indent: str) -> str:
    if item is None or item in ([], {}):
        return "-"
    return escaped_lines(str(item)).replace("\n", f"\n{indent}{_CONTINUED}")
