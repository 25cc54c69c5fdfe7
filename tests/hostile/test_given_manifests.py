"""`offsets check` of offset manifests that cost memory or time, or contain control sequences, in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from standin.connect import StandIn
from support.files.tables import table

from hostile.described_files import Content
from hostile.place import BOUNDS, graded
from hostile.test_connect_answers import place_of


@pytest.mark.parametrize("output", ["text", "json", "sarif"])
@pytest.mark.parametrize("row", [*graded(table(__file__, "odd")), *graded(table(__file__, "sizes"))])
def test_a_manifest(row: Mapping[str, Any], output: str, tmp_path: Path) -> None:
    content = dict(row)
    name, says = content.pop("file"), content.pop("says")
    with StandIn() as hostile, StandIn() as fine:
        place = place_of(tmp_path, hostile, fine)
        Content(**content).write(tmp_path / name, table(__file__, "texts"))
        arguments = ("--cluster", "hostile", "-o", output)
        ran = place.run("offsets", "check", "orders", name, *arguments, bounds=BOUNDS)
    assert says in ran.said
    assert ran.code == (64 if says == "the file is sparse" else 4)
    if output != "text" and ran.out:
        json.loads(ran.out)
