"""The types of columns: how each value is stored, checked when the ledger is opened, exported and imported."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from sqlalchemy import Boolean, Column, Double, Integer, LargeBinary, String, Text, TypeDecorator
from sqlalchemy.engine import Dialect

from gitops_connect.model.applied_effects import pack_effect, unpack_effect
from gitops_connect.model.canonical import canonical
from gitops_connect.model.config_histories import ConfigHistory, ConfigTrial, DeclaredConfig, QueuedConfig, RolledBack
from gitops_connect.model.documents import EMPTY
from gitops_connect.model.interning import shared_text
from gitops_connect.model.observed_state import PartitionPosition
from gitops_connect.model.offset_changes import Acknowledgement
from gitops_connect.model.offsets import OffsetText, PartitionText, pack, unpack
from gitops_connect.model.reviewed_plans import ReviewedPlan, read_reviewed_plan

_LARGEST = 2**31 - 1
"""The largest INTEGER of PostgreSQL."""
_WRONG = (ValueError, ArithmeticError, TypeError, KeyError, AttributeError, RecursionError, zlib.error)
"""What the functions raise that read a value, if someone else has written it."""


class ColumnType(TypeDecorator[Any]):
    """A type of a column. `expected` describes what is stored, for a message about damage."""

    expected = ""

    def __init_subclass__(cls, **more: Any) -> None:
        """No type changes after it was created, so SQLAlchemy may cache statements; it asks each class."""
        super().__init_subclass__(**more)
        cls.cache_ok = True

    def is_sound(self, stored: Any) -> bool:
        """Whether gitops-connect can have stored this; a blob is given as its type (SQLite) or its length."""
        raise NotImplementedError

    def to_json(self, value: Any) -> Any:
        return value

    def from_json(self, where: str, found: Any) -> Any:
        """The reverse of `to_json`. Raises ValueError, which names `where`, for anything else."""
        raise NotImplementedError


class ShortText(ColumnType):
    impl = String
    expected = "a string"

    def is_sound(self, stored: Any) -> bool:
        return isinstance(stored, str)

    def from_json(self, where: str, found: Any) -> Any:
        return read_text(where, found)


class RepeatedText(ShortText):
    """A string that many rows have, such as a name or a revision: in memory, equal ones are one string."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str], str]:
        return shared_text


class LongText(ShortText):
    impl = Text


class Count(ColumnType):
    impl = Integer
    expected = "a whole number"

    def is_sound(self, stored: Any) -> bool:
        return isinstance(stored, int)

    def from_json(self, where: str, found: Any) -> int:
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _LARGEST:
            raise ValueError(f"{where}: expected a number from 0 to {_LARGEST}, found {_shown(found)}")
        return found


class Flag(ColumnType):
    """A Boolean, which SQLite stores as 0 or 1."""

    impl = Boolean
    expected = "0 or 1"

    def is_sound(self, stored: Any) -> bool:
        return stored in (0, 1)

    def from_json(self, where: str, found: Any) -> bool:
        if not isinstance(found, bool):
            raise ValueError(f"{where}: expected true or false, found {_shown(found)}")
        return found


class Number(ColumnType):
    impl = Double
    expected = "a number"

    def is_sound(self, stored: Any) -> bool:
        return isinstance(stored, int | float)


class UtcTime(ColumnType):
    """Stored as `2026-11-21T10:00:00.000000Z`, which sorts: drivers and databases treat time zones differently."""

    impl = String(27)
    expected = "a time such as 2026-11-21T10:00:00.000000Z"
    _FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
    _STORED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """Raise ValueError for a time without an offset: it would mean another moment on another machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC).strftime(self._FORMAT)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str | None], datetime | None]:
        """The stored time in UTC, to the microsecond. The rows of one transaction mostly have the same time."""
        return _read_time

    def is_sound(self, stored: Any) -> bool:
        if not isinstance(stored, str) or not self._STORED.fullmatch(stored):
            return False
        return _time(stored) is not None

    def to_json(self, value: datetime) -> str:
        return value.isoformat()

    def from_json(self, where: str, found: Any) -> datetime:
        time = _time(found)
        if time is None or time.tzinfo is None:
            raise ValueError(f"{where}: expected a time such as 2026-11-21T10:00:00+00:00, found {_shown(found)}")
        return time.astimezone(UTC)


class EnumText(ShortText):
    """A member of an enum, or of one of two, stored as its value. No such column can be NULL."""

    def __init__(self, kind: type[Enum], other: type[Enum] | None = None) -> None:
        super().__init__()
        self.kind, self.other = kind, other
        self._members: dict[Any, Enum] = {one.value: one for one in (*kind, *(other or ()))}
        self.expected = f"one of {', '.join(self._members)}"

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        """This and the next are without a call in Python: pages read thousands of rows."""
        return attrgetter("_value_")

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Enum]:
        return self._members.__getitem__

    def is_sound(self, stored: Any) -> bool:
        return isinstance(stored, str) and stored in self._members

    def to_json(self, value: Enum) -> str:
        return str(value.value)

    def from_json(self, where: str, found: Any) -> Any:
        if not self.is_sound(found):
            raise ValueError(f"{where}: expected {self.expected}, found {_shown(found)}")
        return self._members[found]


class MarkText(ShortText):
    """The kind of a revision: `attempted` or `applied`. Another kind is ignored, and only an import rejects it."""

    def from_json(self, where: str, found: Any) -> str:
        if found not in ("attempted", "applied"):
            raise ValueError(f"{where}: expected one of attempted, applied, found {_shown(found)}")
        return str(found)


class JsonText(LongText):
    content = ""
    """What an import has to contain, in words."""

    def dump(self, value: Any) -> Any:
        """The value for JSON."""
        return value

    def load(self, found: Any) -> Any:
        """The reverse of `dump`. Raises one of `_WRONG` for anything else."""
        return found

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return canonical(self.dump(value)).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return self.load(json.loads(value))

    def is_sound(self, stored: Any) -> bool:
        try:
            self.load(json.loads(stored))
        except _WRONG:
            return False
        return True

    def to_json(self, value: Any) -> Any:
        return json.loads(canonical(self.dump(value)))

    def from_json(self, where: str, found: Any) -> Any:
        try:
            return self.load(json.loads(canonical(found)))
        except _WRONG as error:
            raise ValueError(f"{where}: expected {self.content}, found {_shown(found)}") from error


class TextMap(JsonText):
    def __init__(self, expected: str) -> None:
        super().__init__()
        self.expected = expected

    def dump(self, value: Mapping[str, str]) -> Any:
        return dict(value)

    def load(self, found: Any) -> Mapping[str, str]:
        if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
            raise TypeError("no strings by strings")
        return found

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return EMPTY if value == "{}" else json.loads(value)

    def from_json(self, where: str, found: Any) -> Mapping[str, str]:
        if not isinstance(found, dict):
            raise ValueError(f"{where}: expected an object, found {_shown(found)}")
        return {read_text(where, key): read_text(f"{where}.{key}", value) for key, value in found.items()}


class AcknowledgementList(JsonText):
    expected = "a JSON list of acknowledgements"
    _word = EnumText(Acknowledgement)

    def dump(self, value: frozenset[Acknowledgement]) -> list[str]:
        return sorted(one.value for one in value)

    def load(self, found: Any) -> frozenset[Acknowledgement]:
        if not isinstance(found, list):
            raise TypeError("no list")
        return frozenset(map(Acknowledgement, found))

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """JSON with spaces, as every version has written it."""
        return json.dumps(self.dump(value))

    def from_json(self, where: str, found: Any) -> frozenset[Acknowledgement]:
        if not isinstance(found, list):
            raise ValueError(f"{where}: expected a list, found {_shown(found)}")
        return frozenset(self._word.from_json(where, one) for one in found)


class ConfigHistoryText(JsonText):
    expected = "a JSON object of a config history"
    content = "the configs of a connector"

    def dump(self, value: ConfigHistory) -> dict[str, Any]:
        """A config contains no value of `spec.secrets`: only their references are stored."""
        trial, back, queued = value.trial, value.rolled_back, value.queued
        return {
            "healthy": _declared_value(value.healthy),
            "trial": trial
            and {
                **attributes(trial, "digest", "revision", "was_healthy"),
                "since": trial.since.isoformat(),
                **({"config": _declared_value(trial.config)} if trial.config else {}),
            },
            "rolled_back": back
            and {
                **attributes(back, "digest", "revision", "reason", "keys"),
                "at": back.at.isoformat(),
                **({"applied": back.applied} if back.applied else {}),
            },
            **({"queued": attributes(queued, "digest", "revision")} if queued else {}),
        }

    def load(self, found: Any) -> ConfigHistory:
        trial, back, queued = found["trial"], found["rolled_back"], found.get("queued")
        since = {"since": datetime.fromisoformat(trial["since"])} if trial else {}
        config = {"config": _read_declared(trial.get("config"))} if trial else {}
        at = {"keys": tuple(back["keys"]), "at": datetime.fromisoformat(back["at"])} if back else {}
        return ConfigHistory(
            _read_declared(found["healthy"]),
            ConfigTrial(**{**trial, **since, **config}) if trial else None,
            RolledBack(**{**back, **at}) if back else None,
            QueuedConfig(**queued) if queued else None,
        )


def _declared_value(config: DeclaredConfig | None) -> dict[str, Any] | None:
    return None if config is None else {"config": dict(config.config), "secrets": dict(config.secrets)}


def _read_declared(found: Any) -> DeclaredConfig | None:
    if not found:
        return None
    return DeclaredConfig(found["config"], {key: (kind, name) for key, (kind, name) in found["secrets"].items()})


class PartitionPositionsText(JsonText):
    expected = "a JSON object of partitions, each with its offset, the time since when, and whether it has moved"

    def dump(self, value: Mapping[PartitionText, PartitionPosition]) -> dict[str, Any]:
        return {partition: [one.offset, one.since.isoformat(), one.has_moved] for partition, one in value.items()}

    def load(self, found: Any) -> Mapping[PartitionText, PartitionPosition]:
        return {
            PartitionText(partition): PartitionPosition(
                OffsetText(offset), datetime.fromisoformat(since), moved is True
            )
            for partition, (offset, since, moved) in found.items()
        }


class ReviewedPlanText(JsonText):
    expected = "a JSON object of a reviewed plan"
    content = "a reviewed plan"

    def dump(self, value: ReviewedPlan) -> dict[str, Any]:
        return value.value()

    def load(self, found: Any) -> ReviewedPlan:
        return read_reviewed_plan(found)


class BlobColumn(ColumnType):
    """Bytes, which are exported as base64."""

    impl = LargeBinary
    expected = "bytes"
    content = ""
    """What an import has to contain, in words."""

    def is_sound(self, stored: Any) -> bool:
        return stored in ("blob", "null", None) or isinstance(stored, int)

    def to_json(self, value: bytes) -> str:
        return base64.b64encode(value).decode()

    def from_json(self, where: str, found: Any) -> bytes:
        try:
            return self.repacked(base64.b64decode(read_text(where, found), validate=True))
        except _WRONG as error:
            raise ValueError(f"{where}: expected {self.content} ({error})") from error

    def repacked(self, packed: bytes) -> bytes:
        """The content unpacked and packed again: equal content is equal bytes, no matter which zlib exported it."""
        raise NotImplementedError


class PackedOffsets(BlobColumn):
    content = "packed offsets"

    def repacked(self, packed: bytes) -> bytes:
        offsets = unpack(packed)
        for text in (*offsets.keys(), *(offset for offset in offsets.values() if offset is not None)):
            value = json.loads(text)
            if not isinstance(value, dict) or canonical(value).decode() != text:
                raise ValueError(f"{_shown(text)} is not a canonical JSON object")
        return pack(offsets)


class PackedEffect(BlobColumn):
    content = "a packed effect"

    def repacked(self, packed: bytes) -> bytes:
        return pack_effect(unpack_effect(packed))


class PackedLines(BlobColumn):
    """Whole lines, each with a partition and its offset, compressed by zlib."""

    content = "packed lines of offsets"

    def repacked(self, packed: bytes) -> bytes:
        lines = zlib.decompress(packed)
        if not lines.endswith(b"\n"):
            raise ValueError("its last line is incomplete")
        for number, line in enumerate(lines.splitlines(), start=1):
            value = json.loads(line)
            if not isinstance(value, dict) or value.keys() != {"partition", "offset"}:
                raise ValueError(f"line {number} is not a partition with its offset")
        return zlib.compress(lines)


def type_of(column: Column[Any]) -> ColumnType:
    return cast(ColumnType, column.type)


def attributes(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def read_text(where: str, found: Any) -> str:
    """A string that every database accepts. Raises ValueError, which names `where`."""
    if not isinstance(found, str) or "\0" in found:
        raise ValueError(f"{where}: expected a string, found {_shown(found)}")
    found.encode()  # half of a surrogate pair, which no database accepts, is a ValueError
    return found


@lru_cache(maxsize=1024)
def _read_time(stored: str | None) -> datetime | None:
    return None if stored is None else datetime.fromisoformat(stored)


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def _shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 60 else f"{text[:60]}…"
