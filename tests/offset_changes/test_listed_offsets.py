"""The ConfigMap of a list: its path, its content, and files that are not overwritten."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.files.tables import rows, table
from support.planner.situations import current_offsets

from gitops_connect.errors import UsageError
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.strimzi import RequestedListing
from gitops_connect.offset_changes.strimzi_requests import config_map_path, write_to_directory

LISTING = RequestedListing(
    OffsetChangeName("orders.list.0123456789ab"),
    ConnectorName("orders"),
    None,
    "found",
    "kafka",
    "offsets.json",
    Location("a.yaml", 3),
)
OFFSETS = current_offsets(b=2, a=1)


@pytest.mark.parametrize(
    ("namespace", "name", "path"), [("kafka", "found", "kafka/found.yaml"), ("", "a.b-c", "a.b-c.yaml")]
)
def test_the_path_has_the_namespace(namespace: str, name: str, path: str) -> None:
    assert config_map_path(replace(LISTING, namespace=namespace, config_map=name)) == path


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "/etc/x", ".hidden", "-o", "a\nb", "ä", "a "])
@pytest.mark.parametrize("field", ["namespace", "config_map"])
def test_no_name_leads_out_of_the_directory(tmp_path: Path, field: str, name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid name in Kubernetes, so nothing is written"):
        write_to_directory(tmp_path / "out", replace(LISTING, **{field: name}), OFFSETS)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_everything_else_of_the_config_map_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "kafka" / "found.yaml"
    file.parent.mkdir()
    before = table(__file__, "config_map")
    file.write_text(json.dumps(before))
    write_to_directory(tmp_path, LISTING, OFFSETS)
    after = yaml.safe_load(file.read_text())
    assert json.loads(after["data"]["offsets.json"]) == table(__file__, "listed")
    assert after == {**before, "data": {**before["data"], "offsets.json": after["data"]["offsets.json"]}}
    text = file.read_text()
    write_to_directory(tmp_path, LISTING, OFFSETS)
    assert file.read_text() == text, "a second list of the same offsets changes nothing"
    assert [one.name for one in file.parent.iterdir()] == ["found.yaml"]


@pytest.mark.parametrize("text", rows(__file__, "other_files"))
def test_another_file_is_not_overwritten(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kafka" / "found.yaml"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(UsageError, match="exists, and is not the ConfigMap found alone"):
        write_to_directory(tmp_path, LISTING, OFFSETS)
    assert file.read_text() == text
