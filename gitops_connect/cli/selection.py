"""Which connectors a command shows: `--selector` by name, `--label` by the labels of their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

import typer

from gitops_connect.cli.options import flag, option
from gitops_connect.errors import UsageError
from gitops_connect.model.label_selector import Requirement, parse_selector, selects

Selectors = Annotated[
    list[str] | None, option("--selector", "GLOB", "Only connectors with such a name; may be repeated. [default: all]")
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "-l",
        "--label",
        metavar="SELECTOR",
        help="Only connectors whose documents have these labels, as in `kubectl -l`: team=payments,env!=dev; may be"
        " repeated. [default: all]",
    ),
]
ShowLabels = Annotated[bool, flag("--show-labels", "Also show the labels of the documents.")]


@dataclass(frozen=True, slots=True)
class ConnectorSelection:
    """The patterns of names, of which one must match, and the requirements for labels, all of which must be met."""

    names: tuple[str, ...]
    labels: tuple[Requirement, ...]

    @staticmethod
    def of(names: Sequence[str] | None, labels: Sequence[str] | None) -> ConnectorSelection:
        """The selection of a command line. Raises UsageError for a selector of labels that cannot be read."""
        found: list[Requirement] = []
        for one in labels or ():
            try:
                found += parse_selector(one)
            except ValueError as error:
                expected = "a selector such as team=payments, env!=dev, env in (dev, test), team or !team"
                raise UsageError(f"--label: expected {expected}, found {str(error)!r}") from error
        return ConnectorSelection(tuple(names or ()), tuple(found))

    def includes(self, name: str, labels: Mapping[str, str]) -> bool:
        is_named = not self.names or any(fnmatchcase(name, one) for one in self.names)
        return is_named and selects(self.labels, labels)


def label_words(labels: Mapping[str, str]) -> str:
    """The labels in one cell of a table, as kubectl shows them."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "-"
