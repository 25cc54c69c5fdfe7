"""SARIF, checked with what SARIF 2.1.0 requires, and with what code scanning also requires to show a result."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from document_files import connector, declare
from jsonschema import Draft202012Validator

import gitops_connect
from gitops_connect.checks.rules import RULES as MANIFEST_RULES
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.report import sarif
from gitops_connect.report.rules import RULE_EXPLANATIONS

PACKAGE = Path(gitops_connect.__file__).parent
RULE_IDS = re.compile(
    r'"((?:yaml|document|schema|connector|connect|secret|source|offsets|manifest|strimzi|convert|internal)/[a-z][a-z0-9-]+)"'
)
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
POSITIVE = {"type": "integer", "minimum": 1}


def closed(**properties: Any) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


RULE = closed(
    id={"type": "string", "maxLength": 255},
    name={"type": "string", "maxLength": 255, "pattern": "^[A-Za-z]+$"},
    shortDescription=TEXT,
    fullDescription=TEXT,
    help=TEXT,
)
PLACE = closed(
    artifactLocation=closed(
        uri={"type": "string", "pattern": r"^(?!/)([A-Za-z0-9._~/-]|%[0-9A-F]{2})+$"}, uriBaseId={"const": "SRCROOT"}
    ),
    region=closed(startLine=POSITIVE, startColumn=POSITIVE),
)
RESULT = closed(
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=TEXT,
    locations={"type": "array", "minItems": 1, "maxItems": 1, "items": closed(physicalLocation=PLACE)},
    partialFingerprints={"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
)
DRIVER = closed(
    name={"const": "gitops-connect"},
    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
    rules={"type": "array", "items": RULE},
)
LOG = closed(
    **{
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": closed(
                tool=closed(driver=DRIVER),
                columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                results={"type": "array", "items": RESULT},
            ),
        },
    }
)


def rendered(diagnostics: Diagnostics) -> dict[str, Any]:
    log = json.loads("".join(sarif.render(diagnostics)))
    Draft202012Validator(LOG).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    return dict(run)


def test_no_problems_are_a_run_too() -> None:
    """Without a run, a code-scanning view would keep the problems of the last upload."""
    run = rendered(Diagnostics())
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []


def test_real_diagnostics() -> None:
    _, diagnostics = declare({"sub/a b.yaml": connector("a", "  clas: x\n  state: of\n") + "---\n" + connector("b/")})
    run = rendered(diagnostics)
    assert len(run["results"]) == len(diagnostics) == 3
    first = run["results"][0]
    assert first["ruleId"] == "schema/unknown-field"
    assert first["level"] == "error"
    assert "did you mean 'class'" in first["message"]["text"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "sub/a%20b.yaml"
    assert place["region"] == {"startLine": 6, "startColumn": 3}


@pytest.mark.parametrize(("path", "uri"), [("a#b?.yaml", "a%23b%3F.yaml"), ("é:%.yml", "%C3%A9%3A%25.yml")])
def test_any_path_is_a_relative_uri(path: str, uri: str) -> None:
    run = rendered(Diagnostics.of([Diagnostic(Severity.WARNING, "yaml/tag", "x", Location(path))]))
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
    assert run["results"][0]["level"] == "warning"


def test_a_fingerprint_stays_when_lines_move() -> None:
    def fingerprint(summary: str, line: int) -> str:
        item = Diagnostic(Severity.ERROR, "yaml/tag", summary, Location("a.yaml", line))
        return str(rendered(Diagnostics.of([item]))["results"][0]["partialFingerprints"])

    assert fingerprint("x", 1) == fingerprint("x", 9)
    assert fingerprint("x", 1) != fingerprint("y", 1)


def test_every_rule_that_the_code_names_is_explained() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "report" / "rules"]
    named = {rule for path in modules for rule in RULE_IDS.findall(path.read_text())} | MANIFEST_RULES.keys()
    assert named, "the pattern finds no rule at all"
    assert sorted(named - RULE_EXPLANATIONS.keys()) == []
    assert sorted(RULE_EXPLANATIONS.keys() - named) == []


def test_no_diagnostic_has_a_rule_without_a_prefix() -> None:
    """A rule without a prefix would escape the test of the other rules."""
    calls = re.compile(r'(?:Diagnostic|Problem|Refused|NoManifest|Finding)\((?:Severity\.\w+,\s*)?"([a-z-]+)"')
    assert [found for path in PACKAGE.rglob("*.py") for found in calls.findall(path.read_text())] == []


def test_an_explanation_says_what_triggers_a_rule_and_what_to_do() -> None:
    for rule, known in RULE_EXPLANATIONS.items():
        assert known.trigger.endswith("."), rule
        assert known.fix.endswith("."), rule
        assert known.example, rule


def test_the_severity_of_a_manifest_rule_is_explained() -> None:
    for rule, known in MANIFEST_RULES.items():
        assert RULE_EXPLANATIONS[rule].severity is known.severity, rule


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("key `[a](https://evil.example)`", r"key `[a\](https://evil.example)`"),
        (r"[a\](0) and [b\\](1)", r"[a\\\](0) and [b\\\\\](1)"),
        (r"[clusters.local] is no list of [a] (b\)", r"[clusters.local] is no list of [a] (b\)"),
    ],
)
def test_no_value_becomes_a_link(summary: str, text: str) -> None:
    run = rendered(Diagnostics.of([Diagnostic(Severity.ERROR, "schema/type", summary, Location("a"))]))
    assert run["results"][0]["message"] == {"text": text}
