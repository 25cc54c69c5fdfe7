"""What traces of a real worker mean. tests/contract/test_known_failures.py produces them again."""

from __future__ import annotations

import pytest
from support.files.tables import rows

from gitops_connect.families.known_failures import known_failure


@pytest.mark.parametrize(("trace", "cause", "restart_helps"), rows(__file__, "known"))
def test_a_known_failure(trace: str, cause: str, restart_helps: bool) -> None:
    found = known_failure(trace)
    assert found is not None
    assert (found.cause, found.restart_helps) == (cause, restart_helps)


@pytest.mark.parametrize("trace", rows(__file__, "unknown"))
def test_another_failure_has_no_known_meaning(trace: str) -> None:
    assert known_failure(trace) is None
