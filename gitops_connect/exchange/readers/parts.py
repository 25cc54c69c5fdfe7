"""The fields of a document, each with its location, and their values as the strings that Connect stores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.exchange.readers.reading import Draft, Findings
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.findings import word_or_kind
from gitops_connect.model.suggestions import did_you_mean

_STATES = {one.value: one for one in (TargetState.RUNNING, TargetState.PAUSED, TargetState.STOPPED)}


@dataclass(frozen=True, slots=True)
class Part:
    """The value at `pointer`. The root of a JSON file may also be a list."""

    document: Document
    value: Any = field(repr=False)
    pointer: Pointer = ()

    @staticmethod
    def of(document: Document) -> Part:
        """The whole document."""
        return Part(document, document.value)

    @property
    def location(self) -> Location:
        """The location of the value."""
        return self.document.locate(self.pointer) if self.pointer else self.document.location

    @property
    def text(self) -> str | None:
        """A string, or the source text of a number or a boolean; None for null, lists and mappings."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None or isinstance(self.value, dict | list):
            return None
        return self.document.texts.get(self.pointer, str(self.value))

    def get(self, *keys: str) -> Part:
        """A field, or a field below it. Its value is None if it does not exist."""
        found = self
        for key in keys:
            value = found.value.get(key) if isinstance(found.value, Mapping) else None
            found = Part(found.document, value, (*found.pointer, key))
        return found

    def fields(self) -> Iterator[tuple[str, Part]]:
        """The fields of a mapping; nothing for another value."""
        if isinstance(self.value, Mapping):
            yield from ((key, self.get(key)) for key in self.value)

    def items(self) -> Iterator[Part]:
        """The items of a list; nothing for another value."""
        if isinstance(self.value, list):
            yield from (Part(self.document, one, (*self.pointer, at)) for at, one in enumerate(self.value))


def add_config(draft: Draft, part: Part, findings: Findings) -> None:
    """Add the fields of a mapping to the config of the draft: each number and boolean in its source text."""
    for key, value in part.fields():
        draft.places[key] = value.location
        if value.value is None:
            summary = (
                "this config key has no value: it is left out"  # it may be a part of a secret, as `y` in `{a: x,y}`
            )
            findings.warning("convert/null", summary, value.location, "set a value, or remove the key")
        elif value.text is None:
            found = "a list" if isinstance(value.value, list) else "a mapping"
            summary = f"the value of {key!r} is {found}, expected a string: Connect stores strings only"
            findings.error("convert/value", summary, value.location, "write the value as one string")
        else:
            draft.config[key] = value.text


def state_of(part: Part, findings: Findings) -> TargetState:
    """The state that the value names, in any case; `running` without a value."""
    if part.value is None:
        return TargetState.RUNNING
    state = _STATES.get(str(part.value).lower())
    if state is None:
        expected = ", ".join(_STATES)
        found, suggestion = word_or_kind(part.value), did_you_mean(str(part.value), _STATES)
        summary = f"the state is {found}, expected one of {expected}{suggestion}"
        findings.error("convert/value", summary, part.location)
    return state or TargetState.RUNNING


def texts_of(part: Part, findings: Findings) -> dict[str, str]:
    """The labels or annotations of a mapping."""
    found = {}
    for key, value in part.fields():
        if value.text is None:
            findings.warning("convert/null", f"the value of {key!r} is no string: the key is left out", value.location)
        else:
            found[key] = value.text
    return found


def warn_of_unknown(part: Part, known: Collection[str], what: str, findings: Findings) -> None:
    """A warning for each field that is not among the known ones."""
    for key, value in part.fields():
        if key not in known:
            summary = f"{what} has no field {key!r}: it is left out{did_you_mean(key, known)}"
            findings.warning("convert/unknown-field", summary, value.location)
