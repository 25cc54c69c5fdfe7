"""Expected texts that are kept as files, so that a change of them is reviewed as a diff.

`GOLDEN=rewrite pytest` writes them again.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """Assert that the text equals the content of the file `name`."""
    file = FOLDER / name
    if os.environ.get("GOLDEN") == "rewrite":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"differs from {file}; GOLDEN=rewrite pytest writes it anew"
