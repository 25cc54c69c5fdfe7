"""The order of diagnostics does not depend on the seed of Python's hashes."""

from __future__ import annotations

from itertools import permutations

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName


def test_diagnostics_that_differ_only_in_their_connector_hint_or_severity_have_an_order() -> None:
    place = Location("a.yaml", 1, 1)
    items = [
        Diagnostic(severity, "schema/type", "wrong", place, hint, connector=connector)
        for severity in (Severity.ERROR, Severity.WARNING)
        for hint, connector in (("", ConnectorName("a")), ("", ConnectorName("b")), ("fix it", None))
    ]
    first = Diagnostics.of(items).items
    assert all(Diagnostics.of(order).items == first for order in permutations(items))
    assert len({one.sort_key() for one in items}) == len(items)
