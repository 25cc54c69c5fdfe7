"""What Connect's validation says about exactly-once sources, in all generations of its texts."""

from __future__ import annotations

import pytest
from standin.connect import StandIn
from standin.fixtures import client, clock, make_client, standin
from support.files.tables import rows
from support.planner.situations import wanted

from gitops_connect.checks.plugin_validation import config_errors
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exactly_once_answers import support_shown_by
from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.model.exactly_once import BOUNDARY, SUPPORT
from gitops_connect.observe import observe_exactly_once

__all__ = ["client", "clock", "make_client", "standin"]


@pytest.mark.parametrize(("texts", "support", "of_kafka", "rules"), rows(__file__, "answers"))
def test_each_answer_has_a_rule_and_says_what_the_worker_supports(
    texts: list[str], support: str, of_kafka: str, rules: list[str]
) -> None:
    verdict = ConfigVerdict({SUPPORT: tuple(texts)}, defined=frozenset({SUPPORT}))
    shown = (support_shown_by(verdict, name) for name in ("org.example.Source", "org.apache.kafka.Source"))
    assert [one.value for one in shown] == [support, of_kafka]
    found = list(config_errors(wanted("orders", config={SUPPORT: "required"}), verdict))
    assert [one.rule for one in found] == rules
    assert all(one.hint for one in found if one.rule != "connect/invalid-config")


@pytest.mark.parametrize("text", rows(__file__, "boundaries"))
def test_a_class_without_transactions_of_its_own(text: str) -> None:
    (found,) = config_errors(wanted("orders", config={BOUNDARY: "connector"}), ConfigVerdict({BOUNDARY: (text,)}))
    assert (found.rule, found.hint) == ("connect/boundary-unsupported", "use the boundary poll or interval")


def test_a_text_of_another_key_has_no_such_rule() -> None:
    text = "An unexpected error occurred during validation: no"
    (found,) = config_errors(wanted("orders"), ConfigVerdict({"topic": (text,)}))
    assert found.rule == "connect/invalid-config"


def test_a_sink_and_a_worker_without_the_key_say_nothing() -> None:
    assert support_shown_by(ConfigVerdict(), "org.apache.kafka.Source").value == "unknown"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_support_of_a_worker_is_observed(standin: StandIn, client: ConnectClient, enabled: bool) -> None:
    standin.cluster.exactly_once = enabled
    assert observe_exactly_once(client).value == ("enabled" if enabled else "not enabled")
    (asked,) = (call.body for call in standin.calls if call.method == "PUT")
    assert asked.keys() == {"connector.class", "name", "exactly.once.support", "source.consumer.isolation.level"}


def test_an_unrelated_error_is_no_yes(standin: StandIn, client: ConnectClient) -> None:
    standin.refuse("PUT", ".*/validate", 500, "Request timed out", times=9)
    assert observe_exactly_once(client).value == "unknown"
    assert standin.count("PUT", ".*/validate") == 3


def test_workers_before_kafka_3_3_do_not_support_it(standin: StandIn, client: ConnectClient) -> None:
    standin.cluster.version = "3.2.3"
    assert observe_exactly_once(client).value == "not enabled"
    assert standin.count("PUT") == 0


def test_a_worker_that_does_not_answer_is_unknown(standin: StandIn, client: ConnectClient) -> None:
    standin.refuse("GET", "/connector-plugins", 500, "no", times=9)
    assert observe_exactly_once(client).value == "unknown"
