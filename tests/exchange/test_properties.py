"""Java's properties files: `java_properties.json` has what `java.util.Properties` of Java 17 made of each text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitops_connect.exchange.readers.properties import MalformedEscape, parse

VECTORS = json.loads(Path(__file__).with_name("java_properties.json").read_text())


def test_every_text_is_read_as_java_reads_it() -> None:
    for text, expected in VECTORS:
        content = text.encode("latin-1")
        if expected is None:
            with pytest.raises(MalformedEscape):
                list(parse(content))
        else:
            assert {one.key: one.value for one in parse(content)} == expected, text


def test_each_property_has_the_number_of_its_first_line() -> None:
    found = list(parse(b"# a comment\n\na=1\\\n  2\r\nb=3\rc=4\n"))
    assert [one[:3] for one in found] == [("a", "12", 3), ("b", "3", 5), ("c", "4", 6)]
