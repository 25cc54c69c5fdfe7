"""Invalid settings, and ledgers that someone edited: each command reports the error and does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from filled_ledger import edit, fill_file
from standin.connect import StandIn

from hostile.place import BOUNDS, SECRETS, Bounds, Place, document, graded

TEXTS = {
    "CLUSTER": '[clusters.local]\nurl = "http://127.0.0.1:1"\ntimeout = "1s"\n',
    "SECRET": SECRETS["CONNECT_PASSWORD"],
    "DIGITS": "9" * 400,
    "MORE DIGITS": "9" * 5000,
    "DEEP": "[" * 100_000,
}


@pytest.mark.parametrize("row", graded(yaml.safe_load(Path(__file__).with_name("settings.yaml").read_text())))
def test_settings(row: tuple[str, str], tmp_path: Path) -> None:
    text, says = row
    for name, other in TEXTS.items():
        text = text.replace(f"<{name}>", other)
    place = Place(tmp_path)
    place.settings(text)
    place.write("clusters/local/a.yaml", document())
    said = ""
    for command in (("doctor", "-o", "json"), ("status", "repository")):
        ran = place.run(*command, bounds=Bounds(128, 60))
        assert ran.code in (1, 64)
        said += ran.said
    assert says in said


DAMAGES = [
    ("ownership", "applied", "[" * 100_000),
    ("ownership", "origin", "stolen"),
    ("ownership", "since", "yesterday"),
    ("ownership", "revision", b"\xff"),
    ("operations", "kind", "explode"),
    ("operations", "state", "\x1b[31m"),
    ("operations", "acknowledged", '{"a":' * 100_000),
    ("operations", "snapshot", "text"),
    ("operations", "entries", "x" * 10_000_000),
    ("operation_pieces", "content", "text"),
    ("revisions", "at", "2026-11-21"),
    ("leases", "expires", "1795262400"),
]
"""Values that are written to a column of the only row of a table."""


@pytest.mark.parametrize("row", graded({f"{row[0]}.{row[1]}={str(row[2])[:20]!r}": row for row in DAMAGES}))
def test_a_damaged_ledger(row: tuple[str, str, Any], tmp_path: Path) -> None:
    table, column, _ = row
    with StandIn() as worker:
        place = Place(tmp_path)
        place.settings(f'[repository]\nurl = "repository"\n[clusters.local]\nurl = "{worker.url}"\n')
        place.write("clusters/local/a.yaml", document())
        place.commit()
        fill_file(tmp_path)
        edit(tmp_path, *row)
        ran = place.run("apply", "--yes", bounds=BOUNDS)
        assert worker.count("POST|PUT|PATCH|DELETE", "/connectors.*") == 0
    assert f"is damaged: table {table}" in ran.err
    assert f"column {column}" in ran.err
    assert len(ran.err) < 2000
