"""The JSON of an answer -> values that can be compared, printed and stored."""

from __future__ import annotations

import json
import re
from typing import Any

_HALF = re.compile(r"[\ud800-\udfff]")
_MAY_HAVE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(body: bytes) -> Any:
    """Parse JSON. A lone surrogate, which JSON can contain and UTF-8 cannot encode, becomes U+FFFD.

    Raises ValueError if it is not JSON, and if the JSON is nested too deeply to be parsed.
    """
    try:
        value = json.loads(body)
        return _whole(value) if _MAY_HAVE_HALF.search(body) else value
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return value
