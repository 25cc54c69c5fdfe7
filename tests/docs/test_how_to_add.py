"""What CONTRIBUTING says about adding things is done here, in a copy of the package, and then works."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from acceptance.workplace import run_apart
from support.docs.docs_pages import ROOT
from support.docs.package_source import PACKAGE
from support.files.tables import read_yaml

pytestmark = pytest.mark.slow

SECTION = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add")[2].partition("\n## ")[0]
THINGS: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name("how_to_add.yaml"))


def steps_of(thing: str) -> str:
    """The steps of CONTRIBUTING for it."""
    return SECTION.partition(f"**{thing}**")[2].partition("\n**")[0]


def test_every_list_of_steps_is_tried() -> None:
    titles = [line.split("**")[1] for line in SECTION.splitlines() if line.startswith("**")]
    assert titles == [*THINGS, "Anything else"]


@pytest.mark.parametrize("thing", THINGS)
def test_it_works_after_at_most_five_steps(thing: str, tmp_path: Path) -> None:
    added, steps = THINGS[thing], steps_of(thing)
    assert 1 <= sum(line[:2] in ("1.", "2.", "3.", "4.", "5.", "6.") for line in steps.splitlines()) <= 5
    package = tmp_path / PACKAGE.name
    # With its bytecode, but without files in which another process writes bytecode at this moment.
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.pyc.*"))
    (tmp_path / "schemas").symlink_to(ROOT / "schemas")
    for name, text in added["files"].items():
        assert f"`{Path(name).parts[0]}/" in steps, "the steps name the directory"
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text(text)
    for edit in added["edits"]:
        name, before, after = edit["file"], edit["before"], edit["after"]
        assert f"`{name}`" in steps, "the steps name the file"
        text = (package / name).read_text()
        assert before in text
        (package / name).write_text(text.replace(before, after, 1))
    work = tmp_path / "work"
    work.mkdir()
    program = f"TESTS = {str(ROOT / 'tests')!r}\n{added['program']}"
    environment = {"PYTHONPATH": str(tmp_path), "HOME": str(work)}
    run_apart([sys.executable, "-c", program], timeout=60, cwd=work, env=environment).expect(out=added["expected"])
