from __future__ import annotations

import pytest

from gitops_connect.documents.nodes import Value, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("true", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("0777", 777),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.10", 1.1),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_the_core_schema_of_yaml_1_2(text: str, value: Value) -> None:
    resolved = resolve(text)
    assert resolved == value
    assert type(resolved) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "12:30:00",
        "2026-01-01",
        "1_000",
        "0b11",
        "-",
        ".",
        "1.2.3",
        "e5",
        "0o9",
        "0xg",
        "+",
    ],
)
def test_what_yaml_1_1_takes_for_something_else_is_a_text(text: str) -> None:
    assert resolve(text) == text


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan", "1e999", "9" * 5000])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        resolve(text)
