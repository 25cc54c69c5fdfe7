"""How many nested levels a text may have, and what its strings contain does not count."""

from __future__ import annotations

import json

import pytest

from gitops_connect.model.bounded_json import MAX_LEVELS, parse_json

PAIRS = [
    ("[", "]"),
    ('{"a":', "}"),
    ('{"a":[0,', "]}"),
    ('[{"b":"]","a":', "}]"),
    ('["]",', "]"),
    ('{"}":[],"\\"":', "}"),
    (r'["\\","]\"",', "]"),
    ('["\u225d",', "]"),
]


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_levels_up_to_the_limit_are_read(opening: str, closing: str) -> None:
    times = (MAX_LEVELS - 1) // sum(map(opening.count, "[{"))
    text = f"[{','.join([f'{opening * times}1{closing * times}'] * 200)}]"
    assert parse_json(text) == parse_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
@pytest.mark.parametrize("times", [3 * MAX_LEVELS + 1, 100_000])
def test_more_levels_are_refused_before_the_parser_recurses(opening: str, closing: str, times: int) -> None:
    for text in (opening * times, f"{opening * times}1{closing * times}"):
        for sent in (text, text.encode(), text.encode("utf-16-le")):
            with pytest.raises(ValueError, match=r"the JSON has more than 100 nested levels"):
                parse_json(sent)


@pytest.mark.parametrize("inside", ["[" * 5000, "]" * 5000, "[}" * 5000, '\\"[{' * 5000, "\\\\\\\\", "{[" * 90])
def test_brackets_in_strings_are_no_levels(inside: str) -> None:
    text = f'{{"a": ["{inside}", {{"{inside}": "{inside}"}}], "b": "["}}'
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", "[", "]" * 500, '"' * 501, '["' + '\\"' * 500, '["' + "[" * 500 + "\\", "\ud800"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)
