"""Diagnostics as text and JSON, and for views of code: SARIF, the report of GitLab, and workflow commands of GitHub.

`sarif.yaml` is what SARIF 2.1.0 requires, and what code scanning also requires to show a result.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from support.files.document_files import connector, declare
from support.files.tables import read_yaml, rows, table

import gitops_connect
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName
from gitops_connect.offsets.rules.rules import RULES as MANIFEST_RULES
from gitops_connect.report import code_scanning
from gitops_connect.report.code_scanning import rule_explanations
from gitops_connect.report.problems import problems_json, problems_text

PACKAGE = Path(gitops_connect.__file__).parent
RULE_IDS = re.compile(
    r'"((?:yaml|document|schema|connector|connect|secret|source|offsets|manifest|strimzi|convert|internal)/[a-z][a-z0-9-]+)"'
)
LOG = read_yaml(Path(__file__).with_name("sarif.yaml"))
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


def rendered(diagnostics: Diagnostics) -> dict[str, Any]:
    log = json.loads("".join(code_scanning.sarif(diagnostics)))
    Draft202012Validator(LOG).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    return dict(run)


def rendered_one(summary: str, file: str = "a.yaml", line: int = 1) -> dict[str, Any]:
    item = Diagnostic(Severity.WARNING, "yaml/tag", summary, Location(file, line))
    (found,) = rendered(Diagnostics.of([item]))["results"]
    return dict(found)


def test_no_problems_are_a_run_too() -> None:
    """Without a run, a code-scanning view would keep the problems of the last upload."""
    run = rendered(Diagnostics())
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_real_diagnostics() -> None:
    _, diagnostics = declare({"sub/a b.yaml": connector("a", "  clas: x\n  state: of\n") + "---\n" + connector("b/")})
    run = rendered(diagnostics)
    assert len(run["results"]) == len(diagnostics) == 3
    first = run["results"][0]
    assert (first["ruleId"], first["level"]) == ("schema/unknown-field", "error")
    assert "did you mean 'class'" in first["message"]["text"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "sub/a%20b.yaml"
    assert place["region"] == {"startLine": 6, "startColumn": 3}


def test_any_path_is_a_relative_uri() -> None:
    for path, uri in rows(__file__, "uris"):
        found = rendered_one("x", path)
        assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
        assert found["level"] == "warning"


def test_a_fingerprint_stays_when_lines_move() -> None:
    one, moved, other = (
        rendered_one(summary, line=line)["partialFingerprints"] for summary, line in (("x", 1), ("x", 9), ("y", 1))
    )
    assert one == moved != other


def test_every_rule_that_the_code_names_is_explained() -> None:
    code = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    named = {*RULE_IDS.findall(code)} | MANIFEST_RULES.keys()
    assert sorted(named ^ rule_explanations().keys()) == []
    calls = r'(?:Diagnostic|Problem|Refused|NoManifest|Finding)\((?:Severity\.\w+,\s*)?"([a-z-]+)"'
    assert re.findall(calls, code) == [], "a rule without a prefix would escape this test"


def test_a_rule_has_an_explanation_and_one_severity() -> None:
    stated = {rule for rule, known in rule_explanations().items() if known.severity is not None}
    for rule, known in rule_explanations().items():
        assert (known.trigger[-1], known.fix[-1], bool(known.example)) == (".", ".", True), rule
    assert rule_explanations().keys() - stated == MANIFEST_RULES.keys()


def test_no_value_becomes_a_link() -> None:
    for summary, text in rows(__file__, "links"):
        assert rendered_one(summary)["message"] == {"text": text}


# The code quality report


def quality(*items: Diagnostic) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("".join(code_scanning.code_quality(Diagnostics.of(items))))
    return found


def test_each_problem_has_the_required_fields() -> None:
    (found,) = quality(Diagnostic(Severity.ERROR, "schema/type", "no string", Location("a.yaml", 4, 7), "quote it"))
    assert len(found.pop("fingerprint")) == 32
    assert found == table(__file__, "quality")
    assert quality() == []


def test_equal_problems_on_several_lines_have_different_fingerprints() -> None:
    equal = [Diagnostic(Severity.WARNING, "yaml/tag", "a tag", Location("a.yaml", line)) for line in (1, 2, 3)]
    prints = [one["fingerprint"] for one in quality(*equal)]
    assert len(set(prints)) == 3
    assert [one["fingerprint"] for one in quality(*equal[1:])] == prints[:2], "a fingerprint does not contain lines"


# Workflow commands


def commands(*items: Diagnostic) -> list[str]:
    return "".join(code_scanning.workflow_commands(Diagnostics.of(items), 3)).splitlines()


def test_each_problem_is_a_command_and_the_last_line_is_the_count() -> None:
    assert commands(
        Diagnostic(Severity.ERROR, "schema/type", "expected a string", Location("a.yaml", 4, 7), "quote it"),
        Diagnostic(Severity.WARNING, "yaml/tag", "a tag", Location("b.yaml")),
        Diagnostic(Severity.NOTE, "manifest/alias", "an alias", Location("c.yaml", 2)),
    ) == rows(__file__, "commands")
    assert commands() == ["no problems in 3 documents"]


def test_no_value_becomes_a_command_or_a_property() -> None:
    hostile = "\n::add-mask::x\r\n50%0A"
    lines = commands(Diagnostic(Severity.ERROR, "yaml/tag", hostile, Location("::a,line=9%0A.yaml"), hostile))
    properties = "file=%3A%3Aa%2Cline=9%250A.yaml,line=1,col=1,title=yaml/tag"
    message = "::a,line=9%250A.yaml:1:1:  ::add-mask::x  50%250A%0Ahint:  ::add-mask::x  50%250A"
    assert lines == [f"::error {properties}::{message}", "1 error in 3 documents"]
