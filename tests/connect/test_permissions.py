"""The page of permissions lists every request that the client can send, and no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from standin.connect import Call, StandIn
from standin.fixtures import MakeClient

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.names import ConnectorName

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "permissions.md"
NAME, CLASS = ConnectorName("NAME"), "CLASS"
SENDS: Mapping[str, Callable[[ConnectClient, Path], object]] = {
    "absent": lambda client, _: client.absent(frozenset({NAME})),
    "active_topics": lambda client, _: client.active_topics(NAME),
    "all_plugins": lambda client, _: client.all_plugins(),
    "alter_offsets": lambda client, _: client.alter_offsets(NAME, {}),
    "alter_offsets_with": lambda client, _: client.alter_offsets_with(NAME, b"{}"),
    "await_herder": lambda client, _: client.await_herder(),
    "configure": lambda client, _: client.configure(NAME, {}),
    "connectors": lambda client, _: client.connectors(),
    "create": lambda client, _: client.create(NAME, {}),
    "definition": lambda client, _: client.definition(CLASS),
    "delete": lambda client, _: client.delete(NAME),
    "info": lambda client, _: client.info(),
    "names": lambda client, _: client.names(),
    "offsets": lambda client, _: client.offsets(NAME),
    "other_versions": lambda client, _: client.other_versions(),
    "pause": lambda client, _: client.pause(NAME),
    "plugins": lambda client, _: client.plugins(),
    "reset_active_topics": lambda client, _: client.reset_active_topics(NAME),
    "reset_offsets": lambda client, _: client.reset_offsets(NAME),
    "restart": lambda client, _: client.restart(NAME, include_tasks=False, only_failed=False),
    "restart_part": lambda client, _: client.restart_part(NAME, 7),
    "resume": lambda client, _: client.resume(NAME),
    "save_offsets": lambda client, path: client.save_offsets(NAME, path, 1),
    "sensitive_keys": lambda client, _: client.sensitive_keys(CLASS),
    "stop": lambda client, _: client.stop(NAME),
    "validate": lambda client, _: client.validate(CLASS, {}),
}
SILENT = {"close", "conceal", "concealed", "end_requests_at", "gone", "guarded_by", "require", "threads"}


def documented() -> Iterator[str]:
    """The requests of the table. `/stop` is that of the path before it, with another last part."""
    section = PAGE.read_text().partition("## Kafka Connect")[2].partition("## Git")[0]
    path = ""
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        for one in re.findall(r"`(.*?)`", row):
            path = one if " " in one else path.rpartition("/")[0] + one
            yield path


def request_of(call: Call) -> str:
    path = call.path.replace("/tasks/7/", "/tasks/N/").partition("?include")[0].partition("?version")[0]
    return f"{call.method} {re.sub('(?<=connectors/)[^/?]+(?=/config)', 'NAME', path)}"


@pytest.mark.slow
def test_every_request_of_the_client_is_on_the_page(standin: StandIn, make_client: MakeClient, tmp_path: Path) -> None:
    public = {name for name in vars(ConnectClient) if not name.startswith("_")}
    assert public == SENDS.keys() | SILENT, "each method is called here, or sends nothing"
    for send in SENDS.values():
        try:
            send(make_client(standin.url), tmp_path / "offsets")
        except GitopsConnectError:
            continue
    assert {request_of(call) for call in standin.calls} == set(documented())
