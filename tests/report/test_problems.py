from __future__ import annotations

import json
from dataclasses import replace

from support.files.tables import table

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName
from gitops_connect.report.problems import problems_json, problems_text

PLACE = Location("b.yaml", 3, 5)
ERROR = Diagnostic(
    Severity.ERROR, "schema/type", "spec.suspend is a text", PLACE, "write true", ConnectorName("orders")
)
WARNING = Diagnostic(Severity.WARNING, "document/foreign", "left alone", Location("a.yaml", 12, 1))

NOTE = Diagnostic(Severity.NOTE, "manifest/server", "another server", Location("c.yaml", 2, 2))


def test_text_is_sorted_by_place_with_hints_and_a_count() -> None:
    assert problems_text(Diagnostics.of([ERROR, WARNING]), documents=14) == table(__file__, "text")
    other = Diagnostic(Severity.ERROR, "schema/type", "another", Location("b.yaml", 4, 5))
    assert problems_text(Diagnostics(), documents=1) == "no problems in 1 document\n"
    assert problems_text(Diagnostics.of([ERROR, other])).endswith("2 errors\n")
    assert problems_text(Diagnostics.of([WARNING]), documents=0).endswith("1 warning in 0 documents\n")
    assert problems_text(Diagnostics.of([NOTE, ERROR])).endswith("1 error, 1 note\n")
    skipped = problems_text(Diagnostics.of([NOTE]), documents=2, skipped=2)
    assert skipped.endswith("1 note in 2 documents\n2 offset changes not checked again: already applied\n")


def test_colour_only_where_it_is_asked_for() -> None:
    both = Diagnostics.of([ERROR, WARNING, NOTE])
    assert "\x1b[" not in problems_text(both)
    coloured = problems_text(both, coloured=True)
    for word in ("\x1b[31merror\x1b[0m", "\x1b[33mwarning\x1b[0m", "\x1b[36mnote\x1b[0m"):
        assert word in coloured


def test_nothing_from_a_file_breaks_a_line_or_colours_a_terminal() -> None:
    hostile = Diagnostic(Severity.ERROR, "schema/key", "a\nb.yaml:1:1: error: forged", Location("a.yaml"), "\x1b[2J")
    text = problems_text(Diagnostics.of([hostile]))
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text


def test_json_has_everything() -> None:
    value = json.loads("".join(problems_json(Diagnostics.of([ERROR, WARNING, NOTE]), documents=14, skipped=3)))
    assert (value["documents"], value["errors"], value["warnings"], value["notes"]) == (14, 1, 1, 1)
    assert value["applied_offset_changes"] == 3
    assert value["diagnostics"][1] == table(__file__, "error")
    assert value["diagnostics"][0]["connector"] is None


def test_a_problem_of_several_connectors_is_one_line_and_counts_once() -> None:
    others = [replace(ERROR, connector=ConnectorName(name)) for name in ("a->b.Source", "a->b.Checkpoint")]
    both = Diagnostics.of(others)
    assert problems_text(both) == problems_text(Diagnostics.of([ERROR]))
    assert len(json.loads("".join(problems_json(both, documents=1)))["diagnostics"]) == 2
