"""The behaviour of offsets of any connector, tested on the stand-in and on a real Connect."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.tables import rows

from contract.under_test import TOPIC, Contract, entry, sink_entry
from gitops_connect.errors import GitopsConnectError, NotFound, NotStopped, OffsetsNotChanged, Rejected
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetPatch

pytestmark = pytest.mark.slow

ABSENT = ConnectorName("no-such-connector")
STREAM = {"stream": "a"}
THREE = entry(STREAM, {"position": 3})
DONE = "The offsets for this connector have been altered successfully"


def refusal(contract: Contract, name: ConnectorName, patch: Any) -> tuple[type[GitopsConnectError], str]:
    with pytest.raises(GitopsConnectError) as caught:
        contract.client.alter_offsets(name, patch)
    return type(caught.value), str(caught.value)


def test_an_absent_connector_has_no_offsets(contract: Contract) -> None:
    for call in (
        lambda: contract.client.offsets(ABSENT),
        lambda: contract.client.alter_offsets(ABSENT, THREE),
        lambda: contract.client.reset_offsets(ABSENT),
    ):
        with pytest.raises(NotFound, match=f"Connector {ABSENT} not found"):
            call()


def test_a_body_without_offsets_or_of_another_shape_is_refused(contract: Contract) -> None:
    name = contract.stopped("none", contract.source())
    for any_name in (name, ABSENT):
        assert refusal(contract, any_name, {})[0] is Rejected
    for code, body, words in rows(__file__, "bodies"):
        status, answer = contract.json("PATCH", f"/connectors/{name}/offsets", body)
        assert (status, answer["message"].startswith(words)) == (code, True)


def test_a_connector_that_never_ran_is_seeded_offsets_are_merged_and_a_reset_removes_all(contract: Contract) -> None:
    name = contract.stopped("seed", contract.numbers())
    one, two = entry({"stream": "a"}, {"position": 3}), entry({"stream": "b"}, {"position": 4})
    assert contract.client.offsets(name) == {}
    assert contract.client.alter_offsets(name, one) == ""
    assert contract.client.offsets(name) == one
    contract.client.alter_offsets(name, two)
    assert contract.client.offsets(name) == {**one, **two}
    contract.client.alter_offsets(name, entry({"stream": "a"}, None))
    assert contract.client.offsets(name) == two
    contract.client.alter_offsets(name, entry({"stream": "never"}, None))
    assert contract.client.offsets(name) == two
    for _ in range(2):
        assert contract.client.reset_offsets(name) == ""
        assert contract.client.offsets(name) == {}


def test_the_raw_answers(contract: Contract) -> None:
    name = contract.stopped("raw", contract.numbers())
    assert contract.json("GET", f"/connectors/{name}/offsets") == (200, {"offsets": []})
    assert contract.patch(name, (STREAM, {"position": 3})) == (200, DONE)
    listed = {"offsets": [{"partition": STREAM, "offset": {"position": 3}}]}
    assert contract.json("GET", f"/connectors/{name}/offsets") == (200, listed)
    reset = {"message": DONE.replace("altered", "reset")}
    assert contract.json("DELETE", f"/connectors/{name}/offsets") == (200, reset)
    for method in ("PUT", "POST"):
        assert contract.json(method, f"/connectors/{name}/offsets", listed)[0] == 405


def test_offsets_are_changed_only_while_the_connector_is_stopped(contract: Contract) -> None:
    name = contract.running("moving", contract.source())
    kind, words = refusal(contract, name, THREE)
    assert kind is NotStopped
    assert f"issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint" in words
    with pytest.raises(NotStopped):
        contract.client.reset_offsets(name)
    contract.client.pause(name)
    contract.await_state(name, "PAUSED", ["PAUSED"])
    assert refusal(contract, name, THREE)[0] is NotStopped

    failed = contract.create("failed", contract.mirror())
    contract.await_state(failed, "FAILED", [])
    patch = entry({"cluster": "from", "topic": "t", "partition": 0}, {"offset": 4})
    assert refusal(contract, failed, patch)[0] is NotStopped
    contract.stop(failed)
    contract.client.alter_offsets(failed, patch)
    assert contract.client.offsets(failed) == patch


def test_a_running_source_moves_on_and_is_changed_as_soon_as_it_is_stopped(contract: Contract) -> None:
    """Until its tasks have ended, the change is refused."""
    name = contract.running("hasty", contract.numbers())
    first = contract.await_that(lambda: contract.client.offsets(name), bool)
    contract.await_that(lambda: contract.client.offsets(name), lambda found: found != first)
    contract.client.stop(name)

    def done() -> bool:
        try:
            contract.client.alter_offsets(name, THREE)
        except NotStopped:
            return False
        return True

    contract.await_that(done, bool)
    contract.await_offsets(name, THREE)


def test_values_keep_their_types(contract: Contract) -> None:
    """`1`, `1.0` and `"1"` are three partitions; another order of keys is the same partition."""
    name = contract.stopped("types", contract.numbers())
    patch = {
        **entry({"p": 1}, {"n": 1, "f": 1.5, "t": "ü\u2028\U0001f600", "b": True, "z": None}),
        **entry({"p": 1.0}, {"n": 2**63 - 1, "f": 1e300}),
        **entry({"p": "1"}, {"n": -(2**63), "f": 0.1}),
        **entry({"p": True}, {"n": 1e23}),
        **entry({"p": None}, {"n": 1.0}),
        **entry({"b": 1, "a": 2}, {"n": ""}),
        **entry({}, {}),
    }
    contract.client.alter_offsets(name, patch)
    assert contract.client.offsets(name) == patch
    assert contract.patch(name, ({"a": 2, "b": 1}, {"n": 5}))[0] == 200
    assert contract.client.offsets(name) == {**patch, **entry({"b": 1, "a": 2}, {"n": 5})}


@pytest.mark.parametrize("where", ["partition", "offset"])
def test_a_source_keeps_only_plain_values_of_64_bits(contract: Contract, where: str) -> None:
    name = contract.stopped("plain", contract.numbers())
    for value, kind in (([1], "ARRAY"), ({"a": 1}, "MAP"), (2**63, "class java.math.BigInteger")):
        odd = {"odd": value}
        patch = entry(odd, {"n": 1}) if where == "partition" else entry(STREAM, odd)
        found, words = refusal(contract, name, patch)
        assert found is OffsetsNotChanged
        assert f"Offsets may only contain primitive types as values, but field odd contains {kind}" in words
    assert contract.client.offsets(name) == {}


def test_of_two_offsets_of_a_partition_the_last_wins(contract: Contract) -> None:
    name = contract.stopped("twice", contract.numbers())
    assert contract.patch(name, (STREAM, {"position": 1}), (STREAM, {"position": 2})) == (200, DONE)
    assert contract.client.offsets(name) == entry(STREAM, {"position": 2})
    assert contract.patch(name, (STREAM, {"position": 1}), (STREAM, None)) == (200, DONE)
    assert contract.client.offsets(name) == {}
    assert contract.patch(name, (None, {"n": 1})) == (200, DONE)
    assert contract.client.offsets(name) == {}, "the offset of no partition is accepted, and never returned"


def of_kind(contract: Contract, kind: str, behaviour: str) -> tuple[ConnectorName, OffsetPatch]:
    """A stopped connector of a class whose name begins with `behaviour`, and a change of its offsets."""
    is_source = kind == "source"
    config = contract.numbers(behaviour) if is_source else contract.records(TOPIC, behaviour)
    return contract.stopped("odd", config), THREE if is_source else sink_entry(TOPIC, 1)


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_class_that_does_not_see_to_its_offsets_gives_a_warning(contract: Contract, kind: str) -> None:
    name, patch = of_kind(contract, kind, "")
    warning = "if this connector manages offsets externally, they will need to be manually "
    assert warning + "altered in the system that the connector uses" in contract.client.alter_offsets(name, patch)
    assert contract.client.offsets(name) == patch
    assert warning + "reset in the system that the connector uses" in contract.client.reset_offsets(name)
    assert contract.client.offsets(name) == {}


@pytest.mark.parametrize("kind", ["source", "sink"])
@pytest.mark.parametrize(("behaviour", "error", "words"), rows(__file__, "refusing"))
def test_a_class_that_refuses(contract: Contract, kind: str, behaviour: str, error: str, words: str) -> None:
    name, patch = of_kind(contract, kind, behaviour)
    found, text = refusal(contract, name, patch)
    assert (found.__name__, words in text) == (error, True)
    with pytest.raises(found, match=words):
        contract.client.reset_offsets(name)
    assert contract.client.offsets(name) == {}


def test_offsets_outlive_their_connector(contract: Contract) -> None:
    config = contract.numbers()
    name = contract.stopped("again", config)
    contract.client.alter_offsets(name, THREE)
    contract.client.delete(name)
    with pytest.raises(NotFound):
        contract.client.offsets(name)
    contract.await_that(lambda: name in contract.client.names(), lambda there: not there)
    contract.client.create(name, {**config, "until": "5"})
    assert contract.client.offsets(name).keys() == THREE.keys()
    contract.await_offsets(name, entry(STREAM, {"position": 5}))
