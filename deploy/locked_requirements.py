"""Prints a part of requirements.txt with its hashes: the packages of some tables of pyproject.toml, and what they need.

    python3 deploy/locked_requirements.py lean server

`dependencies` are those of the project, `lean` those without what only Spark needs, `published` those with all extras
that users can install; each other name is an extra or a dependency group. `pip install --require-hashes --no-deps`
accepts only a complete list, and the lock has the packages of all tables. Its comments `# via` say which package needs
which. It needs only the standard library, because it runs before anything is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_END_OF_NAME = re.compile(r"[^A-Za-z0-9._-]")
_ENTRIES = re.compile(r"^(?=\w)", re.MULTILINE)
_VIA = re.compile(r"^ +#(?: via)? +([a-z0-9.-]+)$", re.MULTILINE)


def tables(pyproject: Mapping[str, Any]) -> dict[str, list[str]]:
    """The requirements of each table, by its name."""
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    return {
        "dependencies": project["dependencies"],
        "lean": [one for one in project["dependencies"] if one not in extras["spark"]],
        "published": project["dependencies"] + [one for name in extras.keys() - {"dev"} for one in extras[name]],
        **extras,
        **pyproject["dependency-groups"],
    }


def name_of(requirement: str) -> str:
    """The name of the package, in its normal form."""
    return re.sub(r"[._-]+", "-", _END_OF_NAME.split(requirement, 1)[0]).lower()


def parents(lock: str) -> dict[str, list[str]]:
    """For each locked package, the packages that need it."""
    return {name_of(entry): _VIA.findall(entry) for entry in _ENTRIES.split(lock) if entry.strip()}


def locked(lock: str, requirements: Iterable[str]) -> str:
    """The entries of the lock that are required, directly or by another required package."""
    entries = [(name_of(entry), entry) for entry in _ENTRIES.split(lock) if entry.strip()]
    needed = {name_of(requirement) for requirement in requirements}
    size = 0
    while size < len(needed):
        size = len(needed)
        needed.update(name for name, entry in entries if not needed.isdisjoint(_VIA.findall(entry)))
    return "".join(entry for name, entry in entries if name in needed)


if __name__ == "__main__":
    known = tables(tomllib.loads(Path("pyproject.toml").read_text()))
    if wrong := [name for name in sys.argv[1:] if name not in known]:
        sys.exit(f"{', '.join(wrong)}: not in pyproject.toml; it has {', '.join(known)}")
    chosen = [requirement for name in sys.argv[1:] for requirement in known[name]]
    sys.stdout.write(locked(Path("requirements.txt").read_text(), chosen))
