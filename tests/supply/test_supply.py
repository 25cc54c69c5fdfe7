"""What is installed and published: the lock, its licences, the reasons for dependencies, and no secret in any file."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from locked_requirements import locked, name_of, tables
from packaging.requirements import Requirement
from support.files.tables import table

from gitops_connect.model.credentials import credentials, shaped
from supply.licences import dependencies, licence

ROOT = Path(__file__).parents[2]
TABLES = tables(tomllib.loads((ROOT / "pyproject.toml").read_text()))
LOCK = (ROOT / "requirements.txt").read_text()
PERMISSIVE = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib"]
WEAK_COPYLEFT = ["MPL-2.0", "LGPL-3.0-only"]
"""They concern changes to the package itself. gitops-connect uses such packages unchanged, as separate files."""
OWN_PROCESS = ["GPL-2.0-only WITH Classpath-exception-2.0"]
"""Java is an optional program that the sandbox starts."""


def names(requirements: list[str]) -> set[str]:
    return {name_of(requirement) for requirement in requirements}


def entries(lock: str) -> dict[str, str]:
    return {name_of(entry): entry for entry in re.split(r"(?m)^(?=\w)", lock) if entry.strip()}


def test_every_package_of_the_lock_has_a_hash_and_no_source() -> None:
    found = entries(LOCK)
    assert [name for name, entry in found.items() if "--hash=sha256:" not in entry or "==" not in entry] == []
    assert "://" not in LOCK, "a lock works with every registry"
    assert {name for requirements in TABLES.values() for name in names(requirements)} <= set(found), "run: make lock"


@pytest.mark.parametrize("chosen", TABLES)
def test_a_part_of_the_lock_has_all_that_it_needs(chosen: str) -> None:
    """pip installs it with --no-deps: nothing would be added."""
    part = entries(locked(LOCK, TABLES[chosen]))
    assert names(TABLES[chosen]) <= set(part)
    for name in part:
        try:
            needs = [Requirement(one) for one in metadata.requires(name) or ()]
        except metadata.PackageNotFoundError:
            continue
        missing = [str(one) for one in needs if name_of(one.name) not in part and applies(one)]
        assert missing == [], name


def test_the_sbom_says_what_needs_each_package() -> None:
    """Each published package is reached from the project."""
    published = entries(locked(LOCK, TABLES["published"]))
    bill = {
        "metadata": {"component": {"bom-ref": "project"}},
        "components": [{"name": one, "bom-ref": one} for one in published],
    }
    needs = {one["ref"]: set(one["dependsOn"]) for one in dependencies(bill)}
    reached = {"project"}
    while more := {other for one in reached for other in needs[one]} - reached:
        reached |= more
    assert reached == {"project", *published}
    assert needs["alembic"] == {"mako", "sqlalchemy", "typing-extensions"}


def applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def test_the_licence_of_every_locked_package_is_allowed() -> None:
    """Those that are not installed here are for other systems, or build packages."""
    found = {name: licence(name) for name in entries(LOCK)}
    allowed = {*PERMISSIVE, *WEAK_COPYLEFT, *OWN_PROCESS}
    parts = {name: set(re.split(r" AND | OR ", text)) for name, text in found.items() if text}
    assert {name: found[name] for name, licences in parts.items() if not licences <= allowed} == {}


def test_every_dependency_has_its_reason_and_no_other_package_has() -> None:
    page = (ROOT / "docs" / "contributing" / "dependencies.md").read_text().partition("PyGithub")[0]
    rows = [re.split(r" \| ", row.strip("| ")) for row in re.findall(r"(?m)^\| (?!---|package|extra).*\|$", page)]
    by_extra = {row[0].strip("`") for row in rows if row[0].startswith("`")}
    reasons = {word for row in rows for word in re.split(r", ", row[1] if row[0].startswith("`") else row[0])}
    listed = {name_of(word) for word in reasons if not word.endswith("*")}
    needed = {name for requirements in TABLES.values() for name in names(requirements)}
    stubs = {name for name in needed if name.startswith("types-")}
    assert listed == needed - stubs
    assert by_extra == set(TABLES) - {"dependencies", "lean", "published", "dev", "build"}


@pytest.mark.slow
def test_no_file_has_a_secret() -> None:
    """Secrets with a form of their own, and private keys. The table has the files that test their recognition."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a clone of Git")
    found = {name for name in listed.stdout.split("\0") if name and has_secret(ROOT / name)}
    assert found == set(table(__file__, "planted"))


def has_secret(path: Path) -> bool:
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return any(any(shaped(line)) or ("-----BEGIN" in line and credentials(line)) for line in lines)
