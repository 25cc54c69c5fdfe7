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


def undo(files: Files) -> dict[str, Any]:
    """Write the document that undoes the change `wrong`, commit it and apply it."""
    files.place.undo("wrong")
    files.place.run("validate").expect(0)
    files.place.apply()
    document: dict[str, Any] = yaml.safe_load((files.place.repository / "undo.yaml").read_text())
    return document


def test_undo_of_a_replace_puts_back_the_partition_of_another_file(files: Files) -> None:
    old = [at_position(files.other, 7), at_position(files.own, 5)]
    files.place.set_offsets("files", *old)
    third = at_position(str(files.place.directory / "third.txt"), 1)
    spec = f"operation: replace\noffsets: {json.dumps([third])}\nacknowledge: [tombstone, unread]"
    files.place.apply_change("wrong", "files", spec)
    assert files.existing() == [third]
    document = undo(files)
    assert files.existing() == sorted(old, key=str)
    assert document["spec"]["acknowledge"] == ["tombstone", "unread"]


def test_undo_of_a_reset_puts_back_partitions_of_every_form_that_connect_takes(files: Files) -> None:
    one_more = {"partition": {"filename": files.own, "zone": "a"}, "offset": {"position": 9}}
    number = {"partition": {"filename": 5}, "offset": {"position": 1, "more": "kept"}}
    old = [at_position(files.other, 7), at_position(files.own, 5), one_more, number]
    files.place.set_offsets("files", *old)
    files.place.apply_change("wrong", "files", "operation: reset\nacknowledge: [reset]")
    assert files.existing() == []
    document = undo(files)
    assert files.existing() == sorted(old, key=str)
    assert document["spec"]["acknowledge"] == ["unread"]
