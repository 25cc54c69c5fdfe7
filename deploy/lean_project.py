"""Turns a copy of this project into gitops-connect-lean: the same program, without the packages that only Spark needs.

    python3 deploy/lean_project.py DIRECTORY

No installer can leave out a dependency, so another distribution has fewer. Its extra `spark` adds them.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

NAME = "gitops-connect"


def lean(pyproject: str) -> str:
    """The text of its pyproject.toml."""
    for requirement in tomllib.loads(pyproject)["project"]["optional-dependencies"]["spark"]:
        pyproject = _replaced(pyproject, f'  "{requirement}",\n', "")
    return _replaced(pyproject, f'\nname = "{NAME}"', f'\nname = "{NAME}-lean"')


def _replaced(text: str, old: str, new: str) -> str:
    if old not in text:
        raise ValueError(f"there is no {old!r}")
    return text.replace(old, new, 1)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    package, settings = directory / "gitops_connect" / "__init__.py", directory / "pyproject.toml"
    settings.write_text(lean(settings.read_text()))
    package.write_text(_replaced(package.read_text(), f'DISTRIBUTION = "{NAME}"', f'DISTRIBUTION = "{NAME}-lean"'))
