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
        self.path = f"/connectors/{place.name('files')}/offsets"
        place.commit("files.yaml", place.source("files", "state: stopped", file=self.own, topic=place.name("files")))
        place.apply()

    def set(self, *entries: dict[str, Any]) -> None:
        """Set offsets over the REST API, without a commit."""
        self.place.rest("PATCH", self.path, {"offsets": list(entries)})

    def existing(self) -> list[Any]:
        return sorted(self.place.rest("GET", self.path)["offsets"], key=str)

    def change(self, name: str, *lines: str) -> None:
        head = f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {name}}}\nspec:\n"
        spec = (f"connector: {self.place.name('files')}", *lines)
        self.place.commit(f"{name}.yaml", head + "".join(f"  {line}\n" for line in spec))
        self.place.apply()


def at_position(file: str, position: int) -> dict[str, Any]:
    return {"partition": {"filename": file}, "offset": {"position": position}}


@pytest.fixture
def files(real: Workplace) -> Files:
    return Files(real)


def undo(files: Files, change: str) -> dict[str, Any]:
    """Write the document that undoes the change, commit it and apply it."""
    out = files.place.repository / "undo.yaml"
    ran = files.place.run("offsets", "undo", change, "--out", str(out))
    assert ran.code == 0, ran
    files.place.git("add", "--all")
    files.place.git("commit", "--quiet", "--message", f"take {change} back")
    assert files.place.run("validate").code == 0
    files.place.apply()
    document: dict[str, Any] = yaml.safe_load(out.read_text())
    return document


def test_undo_of_a_replace_puts_back_the_partition_of_another_file(files: Files) -> None:
    old = [at_position(files.other, 7), at_position(files.own, 5)]
    files.set(*old)
    third = at_position(str(files.place.directory / "third.txt"), 1)
    declared = f"offsets: {json.dumps([third])}"
    files.change("wrong", "operation: replace", declared, "acknowledge: [tombstone, unread]")
    assert files.existing() == [third]
    document = undo(files, "wrong")
    assert files.existing() == sorted(old, key=str)
    assert document["spec"]["acknowledge"] == ["tombstone", "unread"]


def test_undo_of_a_reset_puts_back_partitions_of_every_form_that_connect_takes(files: Files) -> None:
    one_more = {"partition": {"filename": files.own, "zone": "a"}, "offset": {"position": 9}}
    number = {"partition": {"filename": 5}, "offset": {"position": 1, "more": "kept"}}
    old = [at_position(files.other, 7), at_position(files.own, 5), one_more, number]
    files.set(*old)
    files.change("wrong", "operation: reset", "acknowledge: [reset]")
    assert files.existing() == []
    document = undo(files, "wrong")
    assert files.existing() == sorted(old, key=str)
    assert document["spec"]["acknowledge"] == ["unread"]


def test_without_the_acknowledgement_nothing_is_set(files: Files) -> None:
    files.set(at_position(files.own, 5))
    files.place.commit(
        "other.yaml",
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {name: other}\nspec:\n"
        f"  connector: {files.place.name('files')}\n  operation: alter\n"
        f"  offsets: {json.dumps([at_position(files.other, 7)])}\n",
    )
    ran = files.place.run("apply", "--yes")
    assert ran.code != 0
    assert "add `acknowledge: [unread]`" in ran.out + ran.err
    assert files.existing() == [at_position(files.own, 5)]
