"""What `get`, `describe` and `status` print: no value controls the terminal or looks like another line."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.report.table import as_json, as_yaml, outline, table

HOSTILE: list[str] = rows(__file__, "hostile")
texts = st.sampled_from(HOSTILE) | st.text(max_size=20)
"""Escape sequences, C1 controls, bidirectional marks, line separators, half a surrogate pair."""


def is_safe(shown: str) -> bool:
    return shown.replace("\n", "").isprintable()


@given(texts, texts)
def test_a_table_has_one_line_for_each_row_and_nothing_else(name: str, state: str) -> None:
    shown = table(("NAME", "STATE"), [(name, f"x{state}"), ("orders", "RUNNING")])
    assert is_safe(shown)
    assert len(shown.splitlines()) == 3


def test_a_table_shows_what_does_not_print_and_stays_aligned() -> None:
    shown = table(("NAME", "STATE"), [("a\x1b[2J", "RUNNING"), ("\u202eb", "x\ny")])
    assert shown.splitlines() == ["NAME         STATE", r"a\u001b[2J   RUNNING", r"\u202eb      x\u000ay"]


@given(texts, texts, texts)
def test_an_outline_drives_no_terminal(key: str, value: str, item: str) -> None:
    tasks = [{"Id": 0, "Trace": value}, item]
    shown = outline({"Name": value, f"k{key}": value, "Config": {f"k{key}": value}, "Tasks": tasks})
    assert is_safe(shown)
    labels = [line for line in shown.split("\n") if line.startswith(("Name:", "Config:", "Tasks:"))]
    assert len(labels) == 3


@pytest.mark.parametrize("forged", ["x\nState: RUNNING", "x\n  State: RUNNING", "x\n    State: RUNNING"])
def test_a_further_line_of_a_value_is_deeper_than_every_key_beside_it(forged: str) -> None:
    """Otherwise a value could add a key that does not exist."""
    assert outline({"Trace": "Boom: \x1b[2Jno\n\tat a.B"}) == "Trace: Boom: \\u001b[2Jno\n        at a.B\n"
    tasks = [{"Id": 0, "State": "FAILED", "Trace": forged}, forged]
    shown = outline({"Name": "orders", "Config": {"topic": forged}, "Tasks": tasks})
    lines = [line for line in shown.splitlines() if "State: RUNNING" in line]
    assert len(lines) == 3
    assert all(len(line) - len(line.lstrip()) > 4 for line in lines)


@given(st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=3))
def test_formats_for_programs_drive_no_terminal_and_mean_the_same(value: dict[str, Any]) -> None:
    shown = as_json(value)
    assert is_safe(shown)
    assert json.loads(shown) == value
    whole = json.loads(json.dumps(value).replace("\\ud800", "?"))
    assert is_safe(as_yaml(whole))
    assert yaml.safe_load(as_yaml(whole)) == whole
