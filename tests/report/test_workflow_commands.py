"""Workflow commands of GitHub: no value from outside begins a command, or ends a property or a message."""

from __future__ import annotations

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.report import workflow_commands


def rendered(*items: Diagnostic) -> list[str]:
    return "".join(workflow_commands.render(Diagnostics.of(items), 3)).splitlines()


def test_each_problem_is_a_command_and_the_last_line_is_the_count() -> None:
    assert rendered(
        Diagnostic(Severity.ERROR, "schema/type", "expected a string", Location("a.yaml", 4, 7), "quote it"),
        Diagnostic(Severity.WARNING, "yaml/tag", "a tag", Location("b.yaml")),
        Diagnostic(Severity.NOTE, "manifest/alias", "an alias", Location("c.yaml", 2)),
    ) == [
        "::error file=a.yaml,line=4,col=7,title=schema/type::a.yaml:4:7: expected a string%0Ahint: quote it",
        "::warning file=b.yaml,line=1,col=1,title=yaml/tag::b.yaml:1:1: a tag",
        "::notice file=c.yaml,line=2,col=1,title=manifest/alias::c.yaml:2:1: an alias",
        "1 error, 1 warning, 1 note in 3 documents",
    ]
    assert rendered() == ["no problems in 3 documents"]


def test_no_value_becomes_a_command_or_a_property() -> None:
    hostile = "\n::add-mask::x\r\n50%0A"
    lines = rendered(Diagnostic(Severity.ERROR, "yaml/tag", hostile, Location("::a,line=9%0A.yaml"), hostile))
    properties = "file=%3A%3Aa%2Cline=9%250A.yaml,line=1,col=1,title=yaml/tag"
    message = "::a,line=9%250A.yaml:1:1:  ::add-mask::x  50%250A%0Ahint:  ::add-mask::x  50%250A"
    assert lines == [f"::error {properties}::{message}", "1 error in 3 documents"]
