"""Values of the filter of the history that are rejected, with what is allowed instead."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.files.tables import rows

from gitops_connect.model.history_filter import HistoryFilter
from gitops_connect.model.names import ClusterName

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


LONG = ("q", "a" * 1001, "at most 1000 characters")


@pytest.mark.parametrize(("name", "value", "message"), [*rows(__file__, "wrong"), LONG])
def test_an_unknown_value_is_an_error_that_says_what_is_allowed(name: str, value: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected ") as caught:
        HistoryFilter.of({name: [value]}, [ClusterName("local"), ClusterName("prod")], NOW)
    assert message in str(caught.value)


def test_empty_values_restrict_nothing() -> None:
    assert HistoryFilter.of({"cluster": [""], "q": [" "], "from": [], "to": [""]}, [], NOW) == HistoryFilter()
