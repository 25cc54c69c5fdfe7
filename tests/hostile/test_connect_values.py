"""Values of a Connect cluster that cannot be written as UTF-8, have other types, or quote a secret, in every format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from standin.connect import StandIn
from standin.raw_answers import ALWAYS
from support.files.tables import table

from hostile.place import BOUNDS, SECRETS, SOURCE, Place, graded
from hostile.test_connect_answers import LIST, VALIDATE, place_of

HALF = "\ud800"
"""Half of a surrogate pair, which JSON can escape and UTF-8 cannot encode."""


COMMANDS = [f"{command} {output}" for command, outputs in table(__file__, "outputs").items() for output in outputs]
Servers = tuple[Place, StandIn, StandIn]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """A place with two clusters, the hostile one, and the other one."""
    with StandIn() as hostile, StandIn() as fine:
        yield place_of(tmp_path, hostile, fine), hostile, fine


def entity(name: str, trace: str, odd: str = "") -> dict[str, Any]:
    """One connector of the expanded list; `odd` is put into all other strings."""
    config = {"connector.class": SOURCE + odd, "name": name, f"topic{odd}": f"lines{odd}", "file": "/tmp/in.txt"}
    connector = {"state": "FAILED", "worker_id": f"w:8083{odd}", "trace": trace}
    status = {"name": name, "connector": connector, "tasks": [{"id": 0, **connector}], "type": "source"}
    return {"status": status, "info": {"name": name, "config": config, "tasks": [], "type": "source"}}


def verdict(*errors: Any) -> dict[str, Any]:
    definition = {"name": "topic", "type": "STRING", "required": True}
    value = {"name": "topic", "value": None, "errors": list(errors)}
    return {"name": "x", "error_count": len(errors), "configs": [{"definition": definition, "value": value}]}


def spoil(worker: StandIn, trace: str, odd: str) -> None:
    """Answer with this trace, and with `odd` in each string."""
    listed = {f"{name}{odd}": entity(f"{name}{odd}", trace, odd) for name in ("other", "more")}
    listed["orders"] = entity("orders", trace, odd)
    answers = {
        LIST: listed,
        "/connectors": list(listed),
        "/connector-plugins(\\?.*)?": [{"class": f"a.B{odd}", "type": "source", "version": odd}],
        "/": {"version": f"4.3.1{odd}", "commit": odd, "kafka_cluster_id": odd},
        "/connectors/orders/offsets": {"offsets": [{"partition": {f"filename{odd}": odd}, "offset": {odd: odd}}]},
    }
    answers["/connectors/orders/topics"] = {"orders": {"topics": [f"lines{odd}"]}}
    for path, body in answers.items():
        worker.answer("GET", path, 200, body, times=ALWAYS)
    worker.answer("PUT", VALIDATE, 200, verdict(f"no {odd}", trace), times=ALWAYS)


def read_back(output: str, command: str) -> None:
    if command.endswith(("json", "sarif")) and "--out" not in command:
        json.loads(output)
    elif command.endswith("yaml"):
        yaml.safe_load(output)


@pytest.mark.parametrize("command", graded(COMMANDS))
def test_half_a_surrogate_pair_in_every_string(command: str, servers: Servers) -> None:
    place, hostile, _ = servers
    spoil(hostile, f"java.lang.Error: {HALF}", HALF)
    ran = place.run(*command.split(), bounds=BOUNDS)
    assert "\ufffd" in ran.said or "\\ufffd" in ran.said or command == "doctor -o json"
    read_back(ran.out, command)


@pytest.mark.parametrize("body", graded(table(__file__, "wrong_types")))
@pytest.mark.parametrize("command", ["validate", "plan"])
def test_a_validation_of_wrong_types(body: Any, command: str, servers: Servers) -> None:
    place, hostile, fine = servers
    hostile.answer("PUT", VALIDATE, 200, body, times=ALWAYS)
    ran = place.run(command, "repository", bounds=BOUNDS)
    assert fine.count("PUT", VALIDATE) == 1, "the other cluster is asked"
    assert "not an answer of Kafka Connect" in ran.said


ODD_ERRORS = {
    "errors that are no strings": verdict(5, None, ["a"], {"b": 1}, 10**400),
    "an error with control characters": verdict("\x1b]0;title\x07 \x00 \r\n \u202e"),
    "100,000 errors": verdict(*(f"error {number}" for number in range(100_000))),
    "an error of 10 MB": verdict("x" * 10**7),
}


@pytest.mark.parametrize("body", graded(ODD_ERRORS))
@pytest.mark.parametrize("output", ["text", "json", "sarif"])
def test_odd_errors_of_a_validation(body: Any, output: str, servers: Servers) -> None:
    place, hostile, _ = servers
    hostile.answer("PUT", VALIDATE, 200, body, times=ALWAYS)
    ran = place.run("validate", "repository", "-o", output, bounds=BOUNDS)
    assert ran.code == 4
    read_back(ran.out, output)


@pytest.mark.parametrize("command", graded(one for one in COMMANDS if not one.startswith(("get p", "offsets"))))
def test_a_trace_that_quotes_a_secret(command: str, servers: Servers) -> None:
    """Its key, `pin`, reveals nothing; the document and the plugin do. `Place.run` searches the output for it."""
    pin = SECRETS["DB_PIN"]
    place, hostile, _ = servers
    failed = entity("orders", f"java.lang.Error: the pin {pin} is wrong\nCaused by: jdbc:x?password={pin}")
    failed["info"]["config"]["pin"] = pin
    hostile.answer("GET", LIST, 200, {"orders": failed}, times=ALWAYS)
    definitions = [{"name": "pin", "type": "PASSWORD"}]
    hostile.answer("GET", "/connector-plugins/.*/config.*", 200, definitions, times=ALWAYS)
    ran = place.run(*command.split(), bounds=BOUNDS)
    saved = place.directory / "plan.json"
    assert not saved.exists() or pin not in saved.read_text()
    assert "***" in ran.said or command.startswith(("validate", "get", "doctor"))
