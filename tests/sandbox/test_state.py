import dataclasses
import json
import multiprocessing
import os
from pathlib import Path

import pytest

from gitops_connect.cli.progress import silent
from gitops_connect.errors import SandboxFailed
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox.processes import ProcessId
from gitops_connect.sandbox.sandbox_state import (
    SandboxPart,
    State,
    TopicTracking,
    locked,
    new_id,
    plugin_directories,
    prepare_directory,
    read_state,
    write_state,
)

STATE = State(
    id="AAAAAAAAQACAAAAAAAAAAA",
    release="4.3.1",
    heap=2048,
    broker=SandboxPart(0, 9092, ProcessId(11, 1.5)),
    controller_port=9093,
    workers=(SandboxPart(1, 8083, ProcessId(12, 2.5)), SandboxPart(2, 8084)),
    plugin_path=("/connectors",),
    exactly_once=ExpectedSupport.PREPARING,
    topic_tracking=TopicTracking.NO_RESET,
)


def test_a_written_state_is_read(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    write_state(tmp_path, STATE)
    assert read_state(tmp_path) == STATE
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_an_incomplete_or_invalid_state_is_refused_by_name(tmp_path: Path) -> None:
    write_state(tmp_path, STATE)
    file = tmp_path / "state.json"
    whole = file.read_text()
    for text in (whole[:40], "[]", "{}", json.dumps({**json.loads(whole), "colour": "red"}), '{"format": 99}'):
        file.write_text(text)
        message = "another version of gitops-connect" if "99" in text else r"state\.json"
        with pytest.raises(SandboxFailed, match=message):
            read_state(tmp_path)


def test_a_state_without_newer_fields_is_read(tmp_path: Path) -> None:
    write_state(tmp_path, STATE)
    file = tmp_path / "state.json"
    before = json.loads(file.read_text())
    del before["plugin_path"], before["exactly_once"], before["topic_tracking"]
    file.write_text(json.dumps(before))
    older = dataclasses.replace(
        STATE, plugin_path=(), exactly_once=ExpectedSupport.ENABLED, topic_tracking=TopicTracking.ENABLED
    )
    assert read_state(tmp_path) == older


@pytest.mark.parametrize(("stored", "support"), [(True, ExpectedSupport.ENABLED), (False, ExpectedSupport.DISABLED)])
def test_the_earlier_form_of_exactly_once_is_read(tmp_path: Path, stored: object, support: ExpectedSupport) -> None:
    write_state(tmp_path, STATE)
    file = tmp_path / "state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "exactly_once": stored}))
    assert read_state(tmp_path) == dataclasses.replace(STATE, exactly_once=support)


def test_parts_are_added_and_removed() -> None:
    moved = STATE.with_part(SandboxPart(1, 8085)).with_part(SandboxPart(3, 8086)).without_worker(2)
    assert [(worker.name, worker.port) for worker in moved.workers] == [("worker-1", 8085), ("worker-3", 8086)]
    assert moved.ports == {9092, 9093, 8085, 8086}
    assert all(part.process is None for part in STATE.without_processes().parts)


def test_a_new_id_is_unique_and_does_not_look_like_an_option() -> None:
    ids = {new_id() for _ in range(500)}
    assert len(ids) == 500
    assert not any(text.startswith("-") for text in ids)
    assert {len(text) for text in ids} == {22}


def hold(directory: Path, reached: "multiprocessing.synchronize.Event") -> None:
    with locked(directory, silent):
        reached.set()
        os._exit(9)  # no unlocking, no clean-up: as after kill -9


@pytest.mark.slow
def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    reached = context.Event()
    holder = context.Process(target=hold, args=(tmp_path, reached))
    holder.start()
    assert reached.wait(30)
    with locked(tmp_path, silent):
        pass
    holder.join()
    holder.close()


def test_the_second_command_waits_and_says_so(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def first_word(text: str, done: int | None, total: int | None) -> None:
        raise Enough(text)

    with (
        locked(tmp_path, silent),
        pytest.raises(Enough, match="waiting for another command"),
        locked(tmp_path, first_word),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "message"),
    [("a,b", "comma or a colon"), ("a:b", "comma or a colon"), ("file", "cannot use the directory")],
)
def test_a_directory_that_cannot_be_used_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SandboxFailed, match=message):
        prepare_directory(tmp_path / name)


def test_directories_of_plugins_are_absolute(empty_directory: Path) -> None:
    (empty_directory / "further").mkdir()
    assert plugin_directories([Path("further")]) == (str(empty_directory / "further"),)


@pytest.mark.parametrize(("name", "message"), [("a,b", "contains a comma"), ("none", "none does not exist")])
def test_a_plugin_directory_that_workers_could_not_read_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(SandboxFailed, match=message):
        plugin_directories([tmp_path / name])
