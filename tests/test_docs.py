"""The documentation is held to the code: what a user can meet is found in it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from gitops_connect.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")


def generated() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "reference" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, str] = module.pages()
    return pages


@pytest.mark.parametrize("name", ["cli.md", "settings.md", "errors.md", "rules.md", "connectors.md"])
def test_the_reference_is_what_the_code_says(name: str) -> None:
    assert (DOCS / "reference" / name).read_text() == generated()[name], "run `make docs`"


def test_every_command_option_and_setting_has_a_meaning() -> None:
    for page in ("cli.md", "settings.md"):
        for line in (DOCS / "reference" / page).read_text().splitlines():
            if line.startswith("| `"):
                assert line.split("|")[2].strip(), f"{page}: {line}"


def test_every_exit_code_is_explained() -> None:
    text = (DOCS / "reference" / "exit-codes.md").read_text()
    for code in ExitCode:
        assert f"| {code.value} | {code.name} |" in text


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/**/*.md")], ids=str)
def test_no_link_leads_nowhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_row_of_the_threat_model_names_modules_with_tests() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| ")]
    headers, *threats = [row for row in rows if not set(row[0]) <= {"-"}]
    assert headers[-1] == "tests"
    for threat in threats:
        modules = LINK.findall(threat[-1])
        assert modules, f"{threat[0]}: no test is named"
        for module in modules:
            assert re.search(r"^def test_", (ROOT / module).read_text(), re.MULTILINE), module


def test_the_hostile_inputs_of_the_threat_model_are_all_of_them() -> None:
    """A module of tests/hostile that SECURITY.md does not name shows something that nobody is told."""
    named = set(LINK.findall((ROOT / "SECURITY.md").read_text()))
    assert {f"tests/hostile/{module.name}" for module in (ROOT / "tests/hostile").glob("test_*.py")} <= named


def test_the_readme_begins_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.index("make demo") < text.index("make test") < text.index("## ")
