"""Expected texts that are kept as files, so that a change of them is reviewed as a diff.

`GOLDEN=rewrite pytest` writes them again.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "golden"


def assert_golden(name: str, text: str, effect: str = "") -> None:
    """Assert that the text equals the content of the file `name`; `effect` says what a difference means for users."""
    file = FOLDER / name
    if os.environ.get("GOLDEN") == "rewrite":
        file.write_text(text, encoding="utf-8")
    message = f"differs from {file}; {effect}GOLDEN=rewrite pytest writes it anew"
    assert text == file.read_text(encoding="utf-8"), message
