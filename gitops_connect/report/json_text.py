"""JSON text in pieces, so that a report of very many values is never in memory as values and as text together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gitops_connect.report.printable import output

_TOKENS = 4096
"""Tokens in one piece."""


def in_pieces(value: Any, as_value: Callable[[Any], Any]) -> Iterator[str]:
    """The indented JSON of `value`, with a line end; characters that do not print are escaped.

    `as_value` returns the JSON value of an object that is not JSON. It is called when the object is written.
    """
    tokens = json.JSONEncoder(indent=2, ensure_ascii=False, default=as_value).iterencode(value)
    while piece := "".join(islice(tokens, _TOKENS)):
        yield output(piece)
    yield "\n"
