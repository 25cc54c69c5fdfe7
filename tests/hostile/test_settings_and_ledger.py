"""Invalid settings, and ledgers that someone edited: each command reports the error and does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from filled_ledger import edit, fill_file
from standin.connect import StandIn
from support.files.tables import table

from hostile.described_files import expanded
from hostile.place import BOUNDS, SECRETS, Bounds, Place, document, graded

TEXTS = {
    "CLUSTER": '[clusters.local]\nurl = "http://127.0.0.1:1"\ntimeout = "1s"\n',
    "SECRET": SECRETS["CONNECT_PASSWORD"],
    "DIGITS": "9" * 400,
    "MORE DIGITS": "9" * 5000,
    "DEEP": "[" * 100_000,
    "DEEP OBJECTS": '{"a":' * 100_000,
    "10 MB": "x" * 10_000_000,
}


@pytest.mark.parametrize("row", graded(table(__file__, "settings")))
def test_settings(row: tuple[str, str], tmp_path: Path) -> None:
    text, says = row
    place = Place(tmp_path)
    place.settings(expanded(text, TEXTS))
    place.write("clusters/local/a.yaml", document())
    said = ""
    for command in (("doctor", "-o", "json"), ("status", "repository")):
        ran = place.run(*command, bounds=Bounds(128, 60))
        assert ran.code in (1, 64)
        said += ran.said
    assert says in said


@pytest.mark.parametrize("row", graded(table(__file__, "damages")))
def test_a_damaged_ledger(row: tuple[str, str, Any], tmp_path: Path) -> None:
    name, column, value = row
    with StandIn() as worker:
        place = Place(tmp_path)
        place.settings(f'[repository]\nurl = "repository"\n[clusters.local]\nurl = "{worker.url}"\n')
        place.write("clusters/local/a.yaml", document())
        place.commit()
        fill_file(tmp_path)
        edit(tmp_path, name, column, expanded(value, TEXTS) if isinstance(value, str) else value)
        ran = place.run("apply", "--yes", bounds=BOUNDS)
        assert worker.count("POST|PUT|PATCH|DELETE", "/connectors.*") == 0
    assert f"is damaged: table {name}" in ran.err
    assert f"column {column}" in ran.err
    assert len(ran.err) < 2000
