"""Too many offsets for memory: they are streamed into a file, and sent as prepared bytes."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from standin.cluster import Cluster
from standin.connect import StandIn
from standin.fixtures import MakeClient
from support.files.manifests import offsets
from support.files.tables import rows

from gitops_connect import errors
from gitops_connect.connect import wire
from gitops_connect.connect.client import ConnectClient, save_offsets
from gitops_connect.errors import ConnectRefused, ConnectUnavailable, OutcomeUnknown, UsageError
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.offsets import Offsets, partition_text

pytestmark = pytest.mark.slow

NAME = ConnectorName("orders")
PATH = "/connectors/orders/offsets"
MANY = 3000


def entry(number: int) -> dict[str, Any]:
    return {"partition": {"filename": f"/dätä/{number}"}, "offset": {"position": number}}


def fill(cluster: Cluster) -> None:
    cluster.create("orders", {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}, "STOPPED")
    for number in range(MANY):
        cluster.stored.set_source("orders", **entry(number))


def read(file: Path) -> Offsets:
    return offsets(*map(json.loads, file.read_bytes().splitlines()))


@pytest.fixture
def full(standin: StandIn) -> StandIn:
    fill(standin.cluster)
    return standin


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "live.jsonl"


def test_few_offsets_are_held_and_leave_no_file(full: StandIn, client: ConnectClient, file: Path) -> None:
    everything = {"offsets": [entry(number) for number in range(MANY)]}
    size = len(json.dumps(everything, separators=(",", ":"), ensure_ascii=False).encode())
    assert client.save_offsets(NAME, file, size) == client.offsets(NAME)
    assert len(client.offsets(NAME)) == MANY
    assert not file.exists()
    assert isinstance(client.save_offsets(NAME, file, size - 1), SavedOffsets)


@pytest.mark.parametrize("limit", [0, 100, 65_536, 100_000])
def test_more_are_streamed_into_the_file(full: StandIn, client: ConnectClient, file: Path, limit: int) -> None:
    file.write_text("from before")
    found = client.save_offsets(NAME, file, limit)
    content = file.read_bytes()
    digest = Digest(hashlib.sha256(content).hexdigest())
    assert found == SavedOffsets(str(file), MANY, len(content), digest)
    assert read(file) == client.offsets(NAME)
    assert file.read_bytes().endswith(b"}}\n")


def test_a_partition_whose_offset_is_null_has_none(standin: StandIn, client: ConnectClient, file: Path) -> None:
    one, none = {"partition": {"a": 1}, "offset": {"b": 2}}, {"partition": {"a": 2}, "offset": None}
    standin.answer("GET", PATH, 200, {"offsets": [none, one, none]})
    found = client.save_offsets(NAME, file, 0)
    assert isinstance(found, SavedOffsets)
    assert (found.entries, read(file)) == (1, {'{"a":1}': '{"b":2}'})


def test_an_answer_that_is_cut_off_is_an_error_and_leaves_no_file(
    full: StandIn, client: ConnectClient, file: Path
) -> None:
    full.truncate("GET", PATH)
    cut = f"GET {PATH}: .* closed the connection before the answer was complete"
    with pytest.raises(ConnectUnavailable, match=cut):
        client.save_offsets(NAME, file, 100)
    assert not file.exists()


def test_the_next_worker_is_asked_for_all_of_it(make_client: MakeClient, file: Path) -> None:
    cluster = Cluster()
    fill(cluster)
    with StandIn(cluster) as one, StandIn(cluster) as two:
        one.truncate("GET", PATH)
        found = make_client(one.url, two.url).save_offsets(NAME, file, 100)
    assert isinstance(found, SavedOffsets)
    assert (found.entries, len(read(file))) == (MANY, MANY)


def test_a_worker_that_stops_in_the_middle_is_left(full: StandIn, make_client: MakeClient, file: Path) -> None:
    full.hang("GET", PATH)
    with pytest.raises(ConnectUnavailable, match=r"did not answer within 0\.2 s"):
        make_client(full.url, timeout=0.2).save_offsets(NAME, file, 100)
    assert not file.exists()


@pytest.mark.parametrize(("body", "words"), rows(__file__, "unreadable"))
def test_what_no_worker_answers_is_named(
    standin: StandIn, client: ConnectClient, file: Path, body: Any, words: str
) -> None:
    standin.answer("GET", PATH, 200, body)
    with pytest.raises(ConnectRefused, match="not an answer of Kafka Connect"):
        client.save_offsets(NAME, file, 5)
    assert not file.exists()
    content = body if isinstance(body, str) else json.dumps(body)
    if words != "no list":
        with pytest.raises(wire.UnreadableAnswer, match=words):
            list(wire.offset_lines([content.encode()]))


def test_a_file_that_cannot_be_written(full: StandIn, client: ConnectClient, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text = r"current offsets cannot be written to .*file/live.*; free some space: a large change stores"
    with pytest.raises(UsageError, match=text):
        client.save_offsets(NAME, tmp_path / "file" / "live.jsonl", 100)
    assert isinstance(client.save_offsets(NAME, tmp_path / "new" / "live.jsonl", 100), SavedOffsets)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    full_disk = Path("/dev/full")
    if not full_disk.exists():
        pytest.skip("no /dev/full here")
    content = [json.dumps({"offsets": [entry(1)]}).encode()]
    link = tmp_path / "live"
    link.symlink_to(full_disk)
    with pytest.raises(UsageError, match=r"No space left on device.*no space left on .* bytes free"):
        save_offsets(content, link)
    assert not link.is_symlink()
    assert full_disk.exists()


def test_memory_is_flat(tmp_path: Path) -> None:
    """Four times as many entries need no more memory."""

    def peak(entries: int) -> int:
        def content() -> Any:
            yield b'{"offsets":['
            for number in range(entries):
                yield (b"," if number else b"") + json.dumps(entry(number)).encode()
            yield b"]}"

        tracemalloc.start()
        save_offsets(content(), tmp_path / "live")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak(6_000), peak(24_000)
    assert many < 1.5 * few


BODY = b'{"offsets": [{"partition": {"filename": "s3cret"}, "offset": {"position": 7}}]}'


def test_a_body_that_is_ready_is_sent_as_it_is(full: StandIn, client: ConnectClient) -> None:
    assert client.alter_offsets_with(NAME, BODY) == ""
    assert client.offsets(NAME)[partition_text({"filename": "s3cret"})] == '{"position":7}'
    assert full.calls[-2].headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(("status", "words", "error"), rows(__file__, "failures"))
def test_its_failures_are_those_of_any_change_and_do_not_quote_it(
    full: StandIn, client: ConnectClient, status: int, words: str, error: str
) -> None:
    full.refuse("PATCH", PATH, status, words)
    with pytest.raises(getattr(errors, error), match=words.split("…", maxsplit=1)[0]) as caught:
        client.alter_offsets_with(NAME, BODY)
    assert "s3cret" not in str(caught.value)
    full.drop("PATCH", PATH)
    with pytest.raises(OutcomeUnknown) as lost:
        client.alter_offsets_with(NAME, BODY)
    assert "s3cret" not in str(lost.value)
    assert full.count("PATCH") == 2
