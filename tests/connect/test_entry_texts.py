from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.files.tables import rows

from gitops_connect.connect.entry_texts import MAX_ENTRY, entry_texts
from gitops_connect.connect.unreadable import Unreadable

pytestmark = pytest.mark.slow

WINDOW = 64 * 1024
ENTRIES = [
    {"partition": {"filename": "/data/ordérs \U0001f600.txt"}, "offset": {"position": 20}},
    {"partition": {"a": [1, [2.5e-3, {"b": '}],\\"'}]]}, "offset": None},
    5,
    -1.25e5,
    "\U0001f600\u2028",
    True,
    [],
    {},
    10**5000 // 3 > 0,
]


def cut(content: bytes, size: int) -> Iterator[bytes]:
    return (content[at : at + size] for at in range(0, len(content), size))


def held_up_to(text: str, position: int) -> list[bytes]:
    """The text after so many spaces that the first window ends at that position of the text."""
    content = b" " * (WINDOW - position) + text.encode()
    return list(cut(content, WINDOW))


@pytest.mark.parametrize("form", [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])
@pytest.mark.parametrize("frame", ["%s", '{"offsets": %s}', '\r\n {"more":[1],"offsets":%s\n}\n\n'])
def test_the_entries_do_not_depend_on_where_the_text_is_cut(form: dict, frame: str) -> None:
    text = frame % json.dumps(ENTRIES, **form)
    lines = text.split("\n")
    for position in range(len(text) + 1):
        found = list(entry_texts(held_up_to(text, position)))
        assert [one.value for one in found] == ENTRIES
        assert [json.loads(one.text) for one in found] == ENTRIES
        assert not any("\n" in one.text for one in found)
        for one in found:
            column = one.column - 1 - (WINDOW - position if one.line == 1 else 0)
            assert lines[one.line - 1][column:].startswith(one.text.split("\r")[0])


BROKEN = [
    *rows(__file__, "broken"),
    ("[" + "[" * 60 + "]" * 60 + "]", "a value with more than 50 nested levels", (1, 2), 0),
    ("[1, " + "[" * 100_000, "a value with more than 50 nested levels", (1, 5), 1),
]


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize(("text", "found", "place", "before"), BROKEN)
def test_an_invalid_body_is_named_at_its_position_after_its_valid_entries(
    text: str, found: str, place: tuple[int, int], before: int
) -> None:
    for position in range(min(len(text), 100) + 1):
        seen = []
        with pytest.raises(Unreadable) as caught:
            seen.extend(entry_texts(held_up_to(text, position)))
        line, column = caught.value.place
        assert caught.value.found.startswith(found)
        assert (line, column - (WINDOW - position if line == 1 else 0)) == tuple(place)
        assert len(seen) == before


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_byte_that_is_not_utf8_is_named_at_its_position(size: int) -> None:
    with pytest.raises(Unreadable) as caught:
        list(entry_texts(cut(b'\xef\xbb\xbf[1,\n "\xc3\xa9\xff"]', size)))
    assert (caught.value.rule, caught.value.found) == ("manifest/encoding", "byte 0xff")
    assert caught.value.place == (2, 4)


def test_an_empty_body_has_no_entries() -> None:
    assert list(entry_texts([])) == []
    assert list(entry_texts([b" \n", b"\t"])) == []


def test_an_entry_without_end_is_refused_before_it_fills_the_memory() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        yield b'[1, "'
        while True:
            taken += 1 << 20
            yield b"x" * (1 << 20)

    with pytest.raises(Unreadable) as caught:
        list(entry_texts(endless()))
    assert (caught.value.rule, caught.value.place) == ("manifest/too-large", (1, 5))
    assert taken <= 3 * MAX_ENTRY


def test_the_body_is_read_only_as_far_as_its_next_entries_need() -> None:
    taken = 0

    def many() -> Iterator[bytes]:
        nonlocal taken
        yield b"["
        for _ in range(100):
            taken += 1
            yield b"%s," % json.dumps(ENTRIES[0]).encode() * 1000
        yield b"{}]"

    entries = entry_texts(many())
    next(entries)
    assert taken < 3
    assert sum(1 for _ in entries) == 100_000
