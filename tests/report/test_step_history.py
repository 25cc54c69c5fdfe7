"""Steps of the history in words, and as CSV and JSON that other programs read safely."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from support.files.tables import rows

from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import ActorKind, JournalEntry, Result
from gitops_connect.model.plans import Action
from gitops_connect.report.step_history import actor_words, approval_words, csv_lines, history_value, json_lines

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def entry(**given: Any) -> JournalEntry:
    values = {"connector": ConnectorName("orders"), "reason": "", "message": "", **given}
    first = (ClusterName("local"), AT, Revision("f" * 40), "Eva")
    connector, reason, message = (values.pop(name) for name in ("connector", "reason", "message"))
    return JournalEntry(*first, connector, Action.RESET, "back", Result.APPLIED, reason, message, 0.5, **values)


@pytest.mark.parametrize(("fields", "actor", "approval"), rows(__file__, "words"))
def test_the_actor_and_the_approval_in_words(fields: dict[str, Any], actor: str, approval: str) -> None:
    one = entry(**{**fields, "actor": ActorKind(fields["actor"])})
    assert (actor_words(one), approval_words(one)) == (actor, approval)


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    """Neither in a spreadsheet that separates by commas nor in one that separates by semicolons."""
    for text, shown in rows(__file__, "formulas"):
        content = "".join(csv_lines([entry(message=text, connector=ConnectorName(text), who=text)]))
        ((line),) = csv.DictReader(io.StringIO(content))
        assert (line["message"], line["connector"], line["who"]) == (shown, shown, shown)
        cells = [cell for part in content.split("\n")[1].split(";") for cell in part.split('","')]
        assert not [one for one in cells if one.strip('"')[:1] in ("=", "+", "-", "@")], text


def test_a_csv_file_has_a_line_for_each_step_whatever_the_step_contains() -> None:
    lines = list(csv_lines([entry(message='a\nb,"c"\r\n\x1b[31m', reason="é"), entry()]))
    assert len(lines) == 3
    assert [line.count("\n") for line in lines] == [1, 1, 1]
    first, second = csv.DictReader(io.StringIO("".join(lines)))
    assert (first["message"], first["reason"]) == ('a\\u000ab,"c"\\u000d\\u000a\\u001b[31m', "é")
    assert (second["time"], second["seconds"], second["action"]) == ("2026-11-21T12:00:00+00:00", "0.5", "reset")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_json_file_is_an_array_of_the_values(count: int) -> None:
    entries = [entry(message="\u202e'\"\n", pull_request=7, approved_by="ana, bob", id=one) for one in range(count)]
    assert json.loads("".join(json_lines(entries))) == [history_value(one) for one in entries]
