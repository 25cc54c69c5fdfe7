"""The documentation is compared with the code: it describes what a user can encounter, and what it shows works."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import generate
import hostile_inputs
import picture
import pytest
import settings_page
from cli_page import loaded_commands
from mkdocs.commands.build import build
from mkdocs.config import load_config
from support.docs.commands import problem
from support.docs.docs_pages import DOCS, PAGES, ROOT, Code, anchors, code, links
from support.docs.package_source import PACKAGE
from support.files.document_files import read
from support.files.tables import read_yaml

from gitops_connect.checks import document_schemas
from gitops_connect.checks.document_schemas import SchemaCache
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.main import COMMANDS
from gitops_connect.report.comment_writer import APPROVE, HELP, REVOKE
from gitops_connect.settings.settings_file import load_settings

README = ROOT / "README.md"
LINK = re.compile(r"\]\(([^)#]+)")


def test_the_reference_is_what_the_code_says() -> None:
    outdated = [name for name, text in generate.pages().items() if (DOCS / "reference" / name).read_text() != text]
    assert outdated == [], "run `make docs`"


def test_the_picture_shows_what_the_program_prints() -> None:
    drawn = picture.picture()
    assert picture.PICTURE.read_text() == drawn, "run `make docs`"
    shown = "".join(ElementTree.fromstring(drawn).itertext()).replace("\xa0", " ")  # noqa: S314 - our own file
    for words in ("orders/1: 120 -> 121", "Plan: 1 to create, 1 to change, 1 to delete.", "6 of 6 steps applied"):
        assert words in picture.text() + picture.applied()
        assert words in shown


def test_every_command_option_and_setting_has_a_meaning() -> None:
    for page in ("cli.md", "settings.md", "helm-values.md"):
        for line in (DOCS / "reference" / page).read_text().splitlines():
            if line.startswith("| `"):
                assert line.split("|")[2].strip(), f"{page}: {line}"


def test_every_exit_code_is_explained() -> None:
    text = (DOCS / "reference" / "exit-codes.md").read_text()
    for code_ in ExitCode:
        assert f"| {code_.value} | {code_.name} |" in text


@pytest.mark.slow
def test_no_link_leads_nowhere() -> None:
    for page, link in ((one, link) for one in PAGES for link in links(one)):
        target, _, anchor = link.partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), (page, link)
        assert not anchor or anchor in anchors(there), (page, link)


def test_every_row_of_the_threat_model_names_its_tests() -> None:
    rows = [row.strip("|").split("|") for row in (ROOT / "SECURITY.md").read_text().splitlines() if row.startswith("|")]
    headers = [row for row in rows if row[0].strip() == "actor"]
    assert [row[-1].strip() for row in headers] == ["tests", "tests"]
    for row in rows:
        if row not in headers and not set("".join(row)) <= {"-", " "}:
            named = re.findall(r"\[`(test_\w+)`\]\(([^)#]+)\)", row[-1])
            assert named, f"{row[:2]}: no test is named"
            assert len(named) == row[-1].count("]("), f"{row[:2]}: a link does not have the form [`test_x`](file)"
            assert [one for one in named if not is_test(*one)] == []


def is_test(name: str, file: str) -> bool:
    """Whether a file of the repository has this test function, which may be in a class."""
    return re.search(rf"^(    )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE) is not None


def test_every_test_with_hostile_inputs_is_on_its_page() -> None:
    named = {(found["test"], f"tests/hostile/{found['file']}") for found in hostile_inputs.data()["inputs"]}
    assert [one for one in named if not is_test(*one)] == []
    for file in (ROOT / "tests/hostile").glob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE):
            assert (name, f"tests/hostile/{file.name}") in named, "add a row to tests/hostile/inputs.yaml"


def test_the_hostile_inputs_of_the_threat_model_are_all_of_them() -> None:
    """SECURITY.md names every module of tests/hostile, so that no tested threat is undocumented."""
    named = set(LINK.findall((ROOT / "SECURITY.md").read_text()))
    assert {f"tests/hostile/{module.name}" for module in (ROOT / "tests/hostile").glob("test_*.py")} <= named


def test_every_page_is_in_the_navigation() -> None:
    def pages(entries: Any) -> Iterator[str]:
        for entry in entries:
            inside = next(iter(entry.values())) if isinstance(entry, dict) else entry
            yield from [inside] if isinstance(inside, str) else pages(inside)

    listed = list(pages(read_yaml(ROOT / "mkdocs.yml")["nav"]))
    assert len(listed) == len(set(listed))
    outside = {page for page in listed if (ROOT / page).exists()}
    assert set(listed) - outside == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """`strict` makes each warning an error, such as a link that works on the forge only."""
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path)))
    assert '<a href="reference/glossary.html#document">' in (tmp_path / "index.html").read_text()


def test_the_readme_begins_with_the_two_commands() -> None:
    text = README.read_text()
    assert text.index("make demo") < text.index("make test") < text.index("## ")


def test_the_first_connector_of_the_readme_has_at_most_eight_lines() -> None:
    first = next(block for block in code(README) if block.language == "yaml")
    assert "kind: Connector" in first.text
    assert len(first.text.splitlines()) <= 8


def test_documents_in_the_docs_are_what_the_schema_says() -> None:
    for block in chain.from_iterable(map(code, PAGES)):
        if block.language == "yaml" and "apiVersion: gitops-connect/v1" in block.text and "\nspec:" in block.text:
            documents = read({"a.yaml": block.text})
            found = [*documents.diagnostics.items, *document_schemas.check(documents, SchemaCache()).items]
            assert documents.documents, block
            assert not found, (block, found)


def test_the_example_settings_have_every_setting_and_load_with_each_alternative(tmp_path: Path) -> None:
    text = settings_page.EXAMPLE.read_text()
    alternatives = re.findall(r"^# \w+ = .*$", text, re.MULTILINE)
    assert len(alternatives) == 6
    for line in ["", *alternatives]:
        file = tmp_path / "gitops-connect.toml"
        file.write_text(text.replace(line, line.removeprefix("# ")) if line else text)
        load_settings(file, {})
    for cls, table in settings_page.TABLES.items():
        name = table.replace("NAME", "prod").replace("DATABASE", "shop")
        section = f"\n{text}".split(f"\n[{name}]\n")[1].partition("\n[")[0]
        shown = set(re.findall(r"^(?:# )?(\w+) = ", section, re.MULTILINE))
        tables = {"name", "max_skip", "worker", "databases", "kafka", "kafka_clusters", "targets"}
        assert {field.name for field in dataclasses.fields(cls)} - tables <= shown, table


def test_settings_in_the_docs_are_settings(tmp_path: Path) -> None:
    for number, block in enumerate(chain.from_iterable(map(code, PAGES))):
        if block.language == "toml":
            file = tmp_path / f"{block.page.replace('/', '-')}-{number}.toml"
            file.write_text(block.text)
            load_settings(file, {})


def test_no_page_has_a_path_of_one_machine() -> None:
    """An example shows `…` instead of a directory of the author's machine."""
    found = re.compile(r"/(?:home|root|Users|work)/\w+")
    assert [f"{page}: {path}" for page in PAGES for path in found.findall(page.read_text())] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_module_and_function_that_the_architecture_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|yaml|html|js))(?::([\w.]+))?`", text)
    assert len(named) > 20
    named = [one for one in named if not one[0].endswith("version_N.py")]
    missing = []
    for path, name in named:
        files = [one for one in (ROOT / path, *PACKAGE.rglob(Path(path).name)) if one.is_file() and one.match(path)]
        last = name.rpartition(".")[2]
        if not any(re.search(rf"^\s*(?:def |class |){last}\b", one.read_text(), re.MULTILINE) for one in files):
            missing.append(f"{path}:{name}")
    assert missing == []


COMMAND = re.compile(r"(?:^|&& |\| |-- |=)(?:\$ )?(?:[\w./]*/)?gitops-connect (?P<rest>[^|>&]*)")
IN_COMMENTS = {one.removeprefix("gitops-connect ") for one in (APPROVE, REVOKE, HELP)}
"""Commands that only a comment on a pull request can have."""
HISTORY = {"CHANGELOG.md"}
"""Pages that also name commands of earlier versions."""


def commands(block: Code) -> Iterator[list[str]]:
    """The arguments of each command of a block, without comments. A Markdown document shows no commands to run."""
    if block.language == "markdown":
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        if found := COMMAND.search(line.strip()):
            yield shlex.split(found["rest"], comments=True)


def test_every_command_and_option_exists() -> None:
    tree = loaded_commands()
    found = [
        f"{block.page}:{block.line}: gitops-connect {' '.join(arguments)}: {wrong}"
        for page in PAGES
        if page.name not in HISTORY
        for block in code(page)
        for arguments in commands(block)
        if arguments and arguments[0] not in IN_COMMENTS and (wrong := problem(arguments, tree))
    ]
    assert not found, "\n".join(found)


def test_a_wrong_command_is_found() -> None:
    tree = loaded_commands()
    assert problem(["plan", "--oout", "x"], tree) == "plan: no option --oout"
    assert problem(["plans"], tree) == "no command plans"
    assert problem(["offsets", "gett", "x"], tree) == "no command offsets gett"
    assert not problem(["--config", "x", "offsets", "get", "orders", "--save=x"], tree)


def test_the_docs_show_nearly_every_command() -> None:
    """If this fails, the search misses a form in which pages write commands."""
    shown = {tuple(arguments[:1]) for page in PAGES for block in code(page) for arguments in commands(block)}
    assert {(name,) for name in COMMANDS} <= shown
