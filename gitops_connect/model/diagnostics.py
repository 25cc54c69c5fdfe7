"""Errors, warnings and notes about the repository, as values: all problems at once, each with its location.

A diagnostic is not an exception, because an exception would stop at the first problem. A diagnostic is not about a
server either: the failure of a server is an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.credentials import concealed
from gitops_connect.model.names import ConnectorName

T = TypeVar("T")

INTERNAL_ERROR = "internal/error"
"""The rule of a bug in gitops-connect that concerns one document or connector only."""


class Severity(Enum):
    """How serious a diagnostic is. Only an error blocks its connector."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """For information: whether this is a problem depends on something that is not known."""


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A location in the repository: path from its root, line and column counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def under(self, directory: str) -> Location:
        """This location with the given directory before its path; unchanged if the directory is empty."""
        return replace(self, file=f"{directory.rstrip('/')}/{self.file}") if directory else self


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: a rule, what is wrong, and what to do (`hint`, possibly empty).

    `connector` is the connector that the problem blocks, or None if the connector is unknown. `bug` is the exception
    of an INTERNAL_ERROR, for the log: its text may contain a secret.
    """

    severity: Severity
    rule: str
    summary: str
    location: Location
    hint: str = ""
    connector: ConnectorName | None = None
    bug: Exception | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """No diagnostic shows a credential that has a known form, wherever its text comes from."""
        object.__setattr__(self, "summary", concealed(self.summary))
        object.__setattr__(self, "hint", concealed(self.hint))

    def sort_key(self) -> tuple[str, int, int, str, str, str, str, str]:
        """By location, then rule: the order in which people fix a file. No two different ones have the same key."""
        return (
            self.location.file,
            self.location.line,
            self.location.column,
            self.rule,
            self.summary,
            self.hint,
            self.connector or "",
            self.severity.value,
        )


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """A sorted, immutable collection without duplicates. Build it with `Diagnostics.of`."""

    items: tuple[Diagnostic, ...] = ()

    @staticmethod
    def of(items: Iterable[Diagnostic]) -> Diagnostics:
        return Diagnostics(tuple(sorted(set(items), key=Diagnostic.sort_key)))

    def __add__(self, other: Diagnostics) -> Diagnostics:
        return Diagnostics.of((*self.items, *other.items))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def each_once(self) -> Diagnostics:
        """These diagnostics for people: a problem of a resource with several connectors is only in it once."""
        return Diagnostics.of(replace(item, connector=None) for item in self.items)

    def under(self, directory: str) -> Diagnostics:
        """These diagnostics with the given directory before every path. It is the directory of the documents."""
        return Diagnostics.of(replace(item, location=item.location.under(directory)) for item in self.items)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.items if item.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.items if item.severity is Severity.WARNING)

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.items if item.severity is Severity.NOTE)

    @property
    def bugs(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.items if item.bug is not None)


def contained(work: Callable[[], T], location: Location, connector: ConnectorName | None = None) -> T | Diagnostic:
    """The result of `work` about one document or connector, or its bug as an INTERNAL_ERROR; raises other errors."""
    try:
        return work()
    except GitopsConnectError:
        raise
    except Exception as error:  # a bug must not block the other documents and connectors
        return internal_error(error, location, connector)


def contained_or(
    otherwise: Callable[[Diagnostic], T],
    work: Callable[[], T],
    location: Location,
    connector: ConnectorName | None = None,
) -> T:
    """The result of `work`, as in `contained`; or what `otherwise` makes of its bug."""
    found = contained(work, location, connector)
    return otherwise(found) if isinstance(found, Diagnostic) else found


def internal_error(error: Exception, location: Location, connector: ConnectorName | None) -> Diagnostic:
    """The diagnostic of a bug. The text of the exception is only in the log, where secrets are masked."""
    summary = f"internal error: a bug ({type(error).__name__}) prevents the processing of this document"
    hint = "report the bug with the trace, which is in the log of `run`, and on stderr of all other commands"
    return Diagnostic(Severity.ERROR, INTERNAL_ERROR, summary, location, hint, connector, error)
