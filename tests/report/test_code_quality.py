"""The code quality report: the fields that GitLab requires, and a fingerprint of its own for each problem."""

from __future__ import annotations

import json
from typing import Any

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.report import code_quality


def rendered(*items: Diagnostic) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("".join(code_quality.render(Diagnostics.of(items))))
    return found


def test_each_problem_has_the_required_fields() -> None:
    (found,) = rendered(Diagnostic(Severity.ERROR, "schema/type", "no string", Location("a.yaml", 4, 7), "quote it"))
    assert len(found.pop("fingerprint")) == 32
    assert found == {
        "description": "no string (quote it)",
        "check_name": "schema/type",
        "severity": "major",
        "location": {"path": "a.yaml", "lines": {"begin": 4}},
    }
    assert rendered() == []


def test_equal_problems_on_several_lines_have_different_fingerprints() -> None:
    equal = [Diagnostic(Severity.WARNING, "yaml/tag", "a tag", Location("a.yaml", line)) for line in (1, 2, 3)]
    prints = [one["fingerprint"] for one in rendered(*equal)]
    assert len(set(prints)) == 3
    assert [one["fingerprint"] for one in rendered(*equal[1:])] == prints[:2], "a fingerprint does not contain lines"
