"""Converts one raw setting (from TOML or from the environment) to the type that its field declares."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NewType, TypeVar

from gitops_connect.errors import UsageError
from gitops_connect.model.clock import Duration, parse_duration
from gitops_connect.model.strimzi import StrimziVersion, parse_strimzi_version
from gitops_connect.safe_files import is_special
from gitops_connect.settings.credential_sources import Credential

# Sizes of memory in the notation `2GiB`, `512MiB`, `1.5GiB`, Java's `2g`, or a number of bytes.

Size = NewType("Size", int)
"""Bytes."""

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LARGEST = 2**60
_WHOLE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:ib)?|(b))?", re.IGNORECASE | re.ASCII)


def parse_size(value: object) -> Size:
    """Bytes from a number or a string. Raises ValueError for anything else, and for a negative number.

    `2g` has the meaning of Java's `-Xmx2g`. `2GB` is rejected, because it can mean 2,000,000,000 bytes or 2 GiB.
    """
    if isinstance(value, float) and value.is_integer():  # Helm writes all numbers of a chart's values as floats
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return Size(value)
    found = _WHOLE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    number, letter, plain = found.groups()
    size = float(number) * _UNITS[(letter or plain or "").lower()]
    if size > _LARGEST:
        raise ValueError(value)
    return Size(round(size))


T = TypeVar("T")

_LARGEST_NUMBER = 10**15
POSITIVE: Mapping[str, bool] = {"positive": True}
"""The metadata of a field that must not be 0."""
_PARSED: Mapping[Any, tuple[Callable[[object], Any], str]] = {
    Duration: (parse_duration, "a duration such as 30s or 5m"),
    Size: (parse_size, "a size such as 2GiB or 512MiB"),
    StrimziVersion: (parse_strimzi_version, 'a version of Strimzi such as "0.45" or "1.2"'),
}


def section(cls: type[T], raw: Mapping[str, Any], where: str, directory: Path, **given: Any) -> T:
    """Build a section dataclass from a table. `where` (as in `[state]`) and the key are named in every error."""
    hints = typing.get_type_hints(cls)
    fields = {one.name: one for one in dataclasses.fields(cls) if one.name not in given}  # type: ignore[arg-type]
    values = dict(given)
    for key, value in raw.items():
        if key not in fields:
            raise UsageError(f"{where}: unknown setting {key!r}{_suggest(key, list(fields))}")
        values[key] = _convert(hints[key], value, f"{where} {key}", directory)
        if fields[key].metadata == POSITIVE and values[key] == 0:
            raise UsageError(f"{where} {key}: expected more than 0, found {value!r}")
    if missing := [name for name in fields if name not in values and _is_required(fields[name])]:
        raise UsageError(f"{where}: {missing[0]} is missing")
    return cls(**values)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _suggest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known settings: {', '.join(sorted(known))}"


def _convert(hint: Any, value: Any, where: str, directory: Path) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(option for option in typing.get_args(hint) if option is not type(None))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint not in (Credential, StrimziVersion):
        first = dataclasses.fields(hint)[0].name  # a plain value sets the first field of the table
        return section(hint, value if isinstance(value, Mapping) else {first: value}, where, directory)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint, value, where)
    origin = typing.get_origin(hint)
    if origin is tuple:
        return tuple(_convert(typing.get_args(hint)[0], item, where, directory) for item in _items(value, where))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise UsageError(f"{where}: expected a table, found {_kind(value)}")
        return {
            key: _convert(typing.get_args(hint)[1], item, f"{where}.{key}", directory) for key, item in value.items()
        }
    return _scalar(hint, value, where, directory)


def _scalar(hint: Any, value: Any, where: str, directory: Path) -> Any:
    if hint is Credential:
        return _credential(value, where, directory)
    if hint in _PARSED:
        return _parsed(hint, value, where)
    if hint is Path:
        return _path(_text(value, where), where, directory)
    if hint is bool:
        return _boolean(value, where)
    if hint in (int, float):
        return _number(hint, value, where)
    return _text(value, where)


def _parsed(hint: Any, value: Any, where: str) -> Any:
    parse, expected = _PARSED[hint]
    try:
        return parse(value)
    except ValueError as error:
        raise UsageError(f"{where}: expected {expected}, found {value!r}") from error


def _items(value: Any, where: str) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        return value
    raise UsageError(f"{where}: expected a list, found {value!r}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: expected a string, found {_kind(value)}")
    if "\0" in value:
        raise UsageError(f"{where}: expected a string without NUL characters")
    return value


def _path(text: str, where: str, directory: Path) -> Path:
    try:
        path = directory / Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{where}: {text!r} begins with the name of an unknown user") from error
    if is_special(path):
        raise UsageError(f"{where}: {text!r} is neither a file nor a directory")
    return path


def _kind(value: Any) -> str:
    """The kind of a value, for messages, because the value itself may be a secret."""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return next((words for kind, words in kinds.items() if isinstance(value, kind)), "a table")


def _boolean(value: Any, where: str) -> bool:
    spelled = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in spelled:
        return spelled[value.lower()]
    raise UsageError(f"{where}: expected true or false, found {value!r}")


def _number(kind: type[int] | type[float], value: Any, where: str) -> int | float:
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{where}: expected a number, found {value!r}") from error
    if isinstance(value, float) and number != value and math.isfinite(value):
        raise UsageError(f"{where}: expected a whole number, found {value!r}")
    if isinstance(value, bool) or not 0 <= number <= _LARGEST_NUMBER:
        raise UsageError(f"{where}: expected a number from 0 to {_LARGEST_NUMBER:,}, found {value!r}")
    return number


def _enum(hint: type[Enum], value: Any, where: str) -> Enum:
    try:
        return hint(value)
    except ValueError as error:
        options = ", ".join(str(option.value) for option in hint)
        raise UsageError(f"{where}: expected one of {options}, found {value!r}") from error


def _credential(value: Any, where: str, directory: Path) -> Credential:
    if isinstance(value, str):
        return Credential(value=_text(value, where), setting=where)
    if isinstance(value, Mapping) and set(value) == {"env"}:
        return Credential(env=_text(value["env"], where), setting=where)
    if isinstance(value, Mapping) and set(value) == {"file"}:
        return Credential(file=_path(_text(value["file"], where), where, directory), setting=where)
    raise UsageError(f'{where}: expected {{env = "NAME"}} or {{file = "PATH"}}')
