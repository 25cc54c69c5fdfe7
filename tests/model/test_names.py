"""Names that Connect cannot address, and what a message says about a character that is refused."""

from __future__ import annotations

import re

import pytest

from gitops_connect.checks.document_schemas import read_schema
from gitops_connect.model.names import REFUSED_IN_KEYS, REFUSED_IN_NAMES, first_refused, unaddressable


@pytest.mark.parametrize(
    "name", ["", ".", "..", " a", "a ", "a/b", "a%b", "a\\b", "{a}", "a\tb", "a\x7f", "a\x85b", "a\ud800"]
)
def test_names_of_no_use(name: str) -> None:
    assert unaddressable(name)


@pytest.mark.parametrize(
    "name", ["orders-sink", "a.b", "a b", "ünï-日本", "a..b", "q?x#y", "a&b=c", 'quote"s', "x" * 300]
)
def test_names_that_can_be_used(name: str) -> None:
    assert unaddressable(name) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b", "'/' at position 2"),
        ("ab\u00a0", "U+00A0 (NO-BREAK SPACE) at position 3"),
        (" a", "U+0020 (SPACE) at position 1"),
        ("a\x00b", "U+0000 at position 2"),
        ("a b", ""),
    ],
)
def test_the_character_and_its_place(text: str, expected: str) -> None:
    assert first_refused(REFUSED_IN_NAMES, text) == expected


def test_the_schemas_refuse_the_same_characters() -> None:
    connector = read_schema("connector")["properties"]
    keys = connector["spec"]["properties"]["config"]["propertyNames"]
    for refused, schema in ((REFUSED_IN_NAMES, connector["metadata"]["properties"]["name"]), (REFUSED_IN_KEYS, keys)):
        for character in map(chr, range(0x3100)):
            for text in (f"a{character}b", f"{character}b", f"b{character}", ""):
                is_valid = re.search(schema["pattern"], text) is not None
                assert is_valid == (bool(text) and text not in (".", "..") and not refused.search(text)), ascii(text)
