"""Values that only a shell knows, such as `$PASSWORD`: each has a mark in the text until its connector is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gitops_connect.exchange.declarations import ConnectorDeclaration, FileReading, reference_of
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity

MARK = re.compile(r"__unknown_value\.([A-Za-z0-9_]*)\.")
_PREFIX = "__unknown_value."


def mark(name: str) -> str:
    """The mark of a variable, or of another expression if it has no name."""
    return f"{_PREFIX}{name}."


def expression_of(text: str) -> str:
    """The text with `${NAME}` for each mark."""
    return MARK.sub(lambda found: f"${{{found.group(1)}}}" if found.group(1) else "$(…)", text)


def without_marks(reading: FileReading, *, has_cluster: bool) -> FileReading:
    """The reading in which each value with a mark is unknown. A connector with a mark elsewhere is an error.

    `has_cluster`: the user names the cluster of all connectors.
    """
    declarations, problems = [], []
    for one in reading.declarations:
        found = list(_misplaced(replace(one, cluster=None) if has_cluster else one))
        problems += found
        if not found:
            unknown = {key: expression_of(value) for key, value in one.config.items() if _PREFIX in value}
            config = {key: value for key, value in one.config.items() if key not in unknown}
            declarations.append(replace(one, config=config, unknown={**one.unknown, **unknown}) if unknown else one)
    diagnostics = [replace(one, summary=expression_of(one.summary)) for one in reading.diagnostics]
    return replace(reading, declarations=tuple(declarations), diagnostics=Diagnostics.of([*diagnostics, *problems]))


def _misplaced(one: ConnectorDeclaration) -> Iterator[Diagnostic]:
    """The marks that no environment variable can replace."""
    others = {**one.fields, **one.secrets}
    texts = {**one.labels, **one.annotations, **{key: str(value) for key, value in others.items()}}
    found = [("the name of the connector", one.name, "name"), ("the cluster", one.cluster or "", "cluster")]
    found += [("a config key", key, key) for key in one.config]
    found += [(f"the value of {key!r}", text, key) for key, text in texts.items()]
    for what, text, key in found:
        if _PREFIX in text:
            summary = f"{what} is {reference_of(expression_of(text))}, which is unknown"
            hint = "write its value into the file"
            yield Diagnostic(Severity.ERROR, "convert/unknown-value", summary, one.locate(key), hint)
