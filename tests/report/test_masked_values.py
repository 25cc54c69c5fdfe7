"""No password that a config value contains survives in any rendering."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.recognizable_secrets import BY_FORM, DER, WORD, A
from support.files.tables import rows
from support.planner.situations import NOW, REVISION, seen, situation, wanted

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Plan
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.report import markdown, plan_json
from gitops_connect.report.connector_status import PluginView, describe_connector
from gitops_connect.report.plan_json import PlanOrigin
from gitops_connect.report.text import TextReport

pytestmark = pytest.mark.slow

URL = "jdbc:postgresql://db/shop?user=a&password={}"
PLACES: list[str] = rows(__file__, "places")
middles = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*\\\"'`;&{}|<>"))


def rendered(made: Plan) -> dict[str, str]:
    origin = PlanOrigin(NOW, REVISION)
    return {
        "text": TextReport(coloured=False).plans([made]),
        "markdown": markdown.render([made]),
        "json": plan_json.render([made], Diagnostics(), origin),
        "repr": repr(made),
    }


def shown_everywhere(declared: str, current: str, key: str = "connection.url") -> dict[str, str]:
    """The plans that create a connector with a value and that change it, and the connector before."""
    desired = wanted("orders", config={key: declared})
    observed = seen("orders", config={key: current})
    created, changed = rendered(plan(situation([desired]))), rendered(plan(situation([desired], [observed])))
    described = json.dumps(describe_connector("local", observed, None, None, PluginView(())))
    return {**created, **{f"changed {key}": text for key, text in changed.items()}, "describe": described}


@given(st.sampled_from(PLACES), middles)
def test_neither_end_of_a_password_survives(place: str, middle: str) -> None:
    old, new = f"Zq7{middle}Xk9", f"Wv3{middle}Yj5"
    for where, text in shown_everywhere(place.format(new), place.format(old)).items():
        assert not {"Zq7", "Xk9", "Wv3", "Yj5"} & {text[at : at + 3] for at in range(len(text))}, where


def test_no_secret_with_a_form_of_its_own_survives() -> None:
    for value in dict(BY_FORM).values():
        shown = shown_everywhere("x", value, "some.option") | shown_everywhere(value, value, "some.option")
        assert [where for where, text in shown.items() if any(part in text for part in (WORD, A, DER))] == [], value


def test_the_rest_of_the_value_stays_readable() -> None:
    one, two = (URL.format(each) for each in ("one", "two"))
    made = plan(situation([wanted("orders", config={"u": one})], [seen("orders", config={"u": two})]))
    assert not made.is_empty
    line = '~ u: "jdbc:postgresql://db/shop?user=a&password=***" (only the masked part changes)'
    assert line in rendered(made)["text"]
    old, new = URL.format("hunter1"), URL.replace("db/", "db2/").format("hunter2")
    made = plan(situation([wanted("orders", config={"u": new})], [seen("orders", config={"u": old})]))
    line = '~ u: "jdbc:postgresql://db/shop?user=a&password=***" -> "jdbc:postgresql://db2/shop?user=a&password=***"'
    assert line in rendered(made)["text"]
    assert json.loads(rendered(made)["json"])["clusters"][0]["resource_changes"][0]["change"]["after"]["u"] == (
        "jdbc:postgresql://db2/shop?user=a&password=***"
    )


@pytest.mark.parametrize("place", PLACES)
def test_no_stored_digest_can_be_compared_with_guesses(place: str) -> None:
    """The digest of a plan has no key, so it must not depend on a password; the digests in the ledger have a key."""
    made = [plan(situation([wanted("orders", config={"u": place.format(one)})])) for one in ("hunter1", "hunter2")]
    assert made[0].digest == made[1].digest
    one, two = (
        remember(situation(), wanted("orders", config={"u": place.format(each)}), Origin.CREATED, NOW)
        for each in ("hunter1", "hunter2")
    )
    assert one.desired != two.desired
    assert "hunter" not in repr(one)
