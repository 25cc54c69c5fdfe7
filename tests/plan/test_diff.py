from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.planner.situations import CLUSTER, KEY, NOW, REVISION, seen, situation, wanted

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Change
from gitops_connect.plan.config_diff import diff
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.report import plan_json
from gitops_connect.report.words import values

MASK = "********"


def remembering(value: str) -> Ownership:
    digest = keyed_digest(KEY, ["orders", "database.password", value])
    return Ownership(
        CLUSTER, ConnectorName("orders"), Origin.CREATED, REVISION, NOW, applied={"database.password": digest}
    )


def compare(desired_password: str, observed_password: str, owned: Ownership | None) -> tuple[Change, ...]:
    desired = wanted("orders", config={"database.password": desired_password}, secrets=["database.password"])
    observed = seen("orders", config={"database.password": observed_password})
    given = replace(situation(), ownership={owned.connector: owned} if owned else {})
    return diff(given, desired, observed).changes


def test_a_masked_value_whose_digest_was_made_with_another_key_is_sent_again() -> None:
    digest = keyed_digest(b"another key", ["orders", "database.password", "hunter2"])
    assert compare("hunter2", MASK, replace(remembering("hunter2"), applied={"database.password": digest}))


@pytest.mark.parametrize("shown", ["***", MASK, "\u2022" * 8, "[hidden]", "[HIDDEN]", "<redacted>"])
def test_every_mask_is_compared_by_the_digest_of_the_last_applied_value(shown: str) -> None:
    assert compare("hunter2", shown, remembering("hunter2")) == ()
    (change,) = compare("hunter3", shown, remembering("hunter2"))
    assert (change.key, change.sensitive) == ("database.password", True)
    assert (change.shown_before, change.shown_after) == ("***", "***")


@pytest.mark.parametrize("shown", ["hunter3", "**", "*", "****x", "hidden", "[secret]", "\u2022"])
def test_a_value_that_is_no_mask_is_compared(shown: str) -> None:
    assert len(compare("hunter2", shown, remembering("hunter2"))) == 1
    assert compare(shown, shown, remembering("hunter2")) == ()


def test_a_key_that_the_server_masks_is_a_secret_whatever_its_name_and_is_remembered() -> None:
    """A proxy may mask a key that neither the plugin nor its name shows as a secret."""
    desired = wanted("orders", config={"my.pin": "hunter2"})
    observed = seen("orders", config={"my.pin": MASK})
    unknown = situation([desired], [observed])
    assert diff(unknown, desired, observed).uncompared == ("my.pin",)
    record = remember(unknown, desired, Origin.ADOPTED, NOW)
    known = replace(unknown, ownership={desired.name: record})
    assert diff(known, desired, observed).uncompared == (), "the note is shown once"
    rotated = replace(desired, config={**desired.config, "my.pin": "hunter3"})
    made = diff(known, rotated, observed)
    assert (made.rotated, made.sensitive) == (("my.pin",), {"my.pin"})
    assert "hunter" not in repr(made.changes)


def test_no_value_of_a_sensitive_key_is_in_a_repr() -> None:
    desired = wanted("orders", config={"database.password": "hunter2", "sasl.jaas.config": "secret=hunter2"})
    made = diff(situation(), desired, seen("orders", config={"database.password": "hunter1"}))
    assert len(made.changes) == 2
    assert "hunter" not in repr(made.changes) + repr(desired)


@pytest.mark.parametrize(
    ("before", "after", "secret", "expected"),
    [
        ("hunter1", "${file:/run/db:pw}", False, '*** -> "${file:/run/db:pw}"'),
        ("${env:OLD}", "${env:NEW}", False, '"${env:OLD}" -> "${env:NEW}"'),
        ("${env:OLD}", "hunter2", False, '"${env:OLD}" -> ***'),
        ("hunter1", "hunter2", False, "*** (before) -> *** (after)"),
        ("hunter1${file:a:b}", "hunter2${file:a:b}", False, '"***${file:a:b}" (only the masked part changes)'),
        ("hunter1${file:a:b}hunter", "x${file:a:c}hunter", False, '"***${file:a:b}***" -> "***${file:a:c}***"'),
        ("${env:OLD}", "hunter2", True, '"${env:OLD}" -> ***'),
        ("hunter1", "${env:READ}", True, "*** (before) -> *** (after)"),
        (None, "${env:NEW}", False, '"${env:NEW}"'),
        (None, "hunter2", False, "***"),
    ],
)
def test_a_placeholder_is_shown_and_the_value_of_a_secret_of_the_document_is_not(
    before: str | None, after: str, secret: bool, expected: str
) -> None:
    key = "database.password"
    desired = wanted("orders", config={key: after}, secrets=[key] if secret else [])
    observed = seen("orders", config={key: before} if before is not None else None)
    (change,) = diff(situation(), desired, observed).changes
    assert values(change) == expected
    assert bool(change.secret) == ("***" in expected.rpartition(" -> ")[2])
    assert "hunter" not in repr(change)


def test_the_json_of_a_plan_has_placeholders_and_names_the_keys_with_a_masked_part() -> None:
    before = {"a.password": "hunter1", "b.password": "${env:OLD}", "c.password": "x${env:C}"}
    after = {"a.password": "${env:NEW}", "b.password": "hunter2", "c.password": "y${env:C}"}
    given = situation([wanted("orders", config=after)], [seen("orders", config=before)], owned=["orders"])
    text = plan_json.render([plan(given)], Diagnostics(), plan_json.PlanOrigin(NOW, REVISION))
    change = json.loads(text)["clusters"][0]["resource_changes"][0]["change"]
    assert change["before"] == {"b.password": "${env:OLD}", "c.password": "***${env:C}"}
    assert change["after"] == {"a.password": "${env:NEW}", "c.password": "***${env:C}"}
    assert (change["before_sensitive"], change["after_sensitive"]) == (
        ["a.password", "c.password"],
        ["b.password", "c.password"],
    )
    assert "hunter" not in text


def test_what_connect_once_called_a_password_stays_one_when_it_is_not_asked_again() -> None:
    desired = wanted("orders", config={"pin": "1234"})
    asked = situation([desired], passwords={desired.name: frozenset({"pin"})})
    assert [change.sensitive for change in diff(asked, desired, seen("orders")).changes] == [True]
    record, masked = remember(asked, desired, Origin.CREATED, NOW), seen("orders", config={"pin": MASK})
    later = replace(situation([desired], [masked]), ownership={desired.name: record})
    assert diff(later, desired, masked).changes == ()
    assert remember(later, desired, Origin.CREATED, NOW) == record
    (change,) = diff(later, wanted("orders", config={"pin": "9999"}), masked).changes
    assert change.sensitive


def test_what_is_sent_keeps_the_observed_value_of_an_ignored_key() -> None:
    desired = wanted("orders", config={"file": "/new", "batch.size": "1"}, ignore=["batch.*", "added"])
    observed = seen("orders", config={"file": "/old", "batch.size": "2", "added": "x"})
    made = diff(situation(), desired, observed)
    assert [change.key for change in made.changes] == ["file"]
    assert made.config.items() >= {"batch.size": "2", "added": "x", "file": "/new"}.items()


def test_an_ignored_key_is_sent_when_the_connector_is_created() -> None:
    desired = wanted("orders", config={"batch.size": "1"}, ignore=["batch.*"])
    assert diff(situation(), desired, None).config["batch.size"] == "1"


def test_a_connector_without_tasks_max_has_one_task() -> None:
    observed = seen("orders")
    without = replace(observed, config={key: value for key, value in observed.config.items() if key != "tasks.max"})
    assert diff(situation(), wanted("orders"), without).changes == ()
    four = wanted("orders", config={"tasks.max": "4"})
    assert diff(situation(), four, without).changes == (Change("tasks.max", "1", "4"),)


def test_options_of_jaas_in_another_order_are_no_change() -> None:
    line = 'M required username="a" password="b";'
    desired = wanted("orders", config={"x.sasl.jaas.config": line, "retries": "1"})
    observed = seen("orders", config={"x.sasl.jaas.config": 'M required password="b" username="a";', "retries": "2"})
    made = diff(situation(), desired, observed)
    assert [change.key for change in made.changes] == ["retries"]
    assert made.config["x.sasl.jaas.config"] == line
