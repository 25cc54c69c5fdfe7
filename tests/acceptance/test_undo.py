"""The undo of a wrong change on a real Connect restores all offsets, also those that the connector does not read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from acceptance.workplace import Workplace

pytestmark = pytest.mark.e2e


class Files:
    """A stopped source of one file; its offsets may contain other files as well."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self.own, self.other = str(place.directory / "own.txt"), str(place.directory / "other.txt")
        place.deploy("files.yaml", place.source("files", "state: stopped", file=self.own, topic=place.name("files")))

    def existing(self) -> list[Any]:
        return sorted(self.place.offsets("files"), key=str)


def at_position(file: str, position: int) -> dict[str, Any]:
    return {"partition": {"filename": file}, "offset": {"position": position}}


@pytest.fixture
def files(real: Workplace) -> Files:
    return Files(real)


def test_an_undo_puts_back_partitions_of_every_form_and_of_other_files(files: Files) -> None:
    one_more = {"partition": {"filename": files.own, "zone": "a"}, "offset": {"position": 9}}
    number = {"partition": {"filename": 5}, "offset": {"position": 1, "more": "kept"}}
    old = [at_position(files.other, 7), at_position(files.own, 5), one_more, number]
    third = at_position(str(files.place.directory / "third.txt"), 1)
    replace = f"operation: replace\noffsets: {json.dumps([third])}\nacknowledge: [tombstone, unread]"
    reset = "operation: reset\nacknowledge: [reset]"
    files.place.set_offsets("files", *old)
    for name, spec, changed, needed in (
        ("wrong", replace, [third], ["tombstone", "unread"]),
        ("again", reset, [], ["unread"]),
    ):
        files.place.apply_change(name, "files", spec)
        assert files.existing() == changed
        files.place.undo(name)
        files.place.run("validate").expect(0)
        files.place.apply()
        assert files.existing() == sorted(old, key=str)
        document = yaml.safe_load((files.place.repository / "undo.yaml").read_text())
        assert document["spec"]["acknowledge"] == needed
        files.place.commit("undo.yaml")
