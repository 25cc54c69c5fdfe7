"""Cutting chunks out of a file of lines: every entry once, in order, whatever the sizes."""

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_connect.offset_changes.large_change import PatchReader

ENTRIES = st.lists(st.text(max_size=8), max_size=40)


def _written(directory: Path, texts: list[str]) -> str:
    file = directory / "declared.jsonl"
    file.write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    return str(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(expected=ENTRIES, sizes=st.lists(st.integers(1, 60), min_size=1), again=st.lists(st.booleans(), min_size=1))
def test_every_entry_is_in_one_chunk(tmp_path: Path, expected: list[str], sizes: list[int], again: list[bool]):
    reader = PatchReader(_written(tmp_path, expected))
    sent: list[str] = []
    for turn in range(3 * len(expected) + 3):
        size = sizes[turn % len(sizes)]
        chunk = reader.read(len(sent), size)
        entries = json.loads(chunk.body)["offsets"]
        assert len(entries) == chunk.entries
        assert chunk.entries > 0 or sent == expected
        assert len(chunk.body) <= size + len('{"offsets":[]}') or chunk.entries == 1
        if not again[turn % len(again)]:
            sent += entries
        if sent == expected and chunk.entries == 0:
            break
    assert sent == expected[: len(sent)]


def test_it_goes_on_anywhere_and_back(tmp_path: Path):
    reader = PatchReader(_written(tmp_path, [*(f"text {number}" for number in range(50_000)), "the last"]))

    def first(start: int) -> str:
        text = json.loads(reader.read(start, 1).body)["offsets"][0]
        assert isinstance(text, str)
        return text

    assert [first(number) for number in (40_000, 3, 49_999, 0)] == ["text 40000", "text 3", "text 49999", "text 0"]
    assert first(50_000) == "the last"
    assert reader.read(50_001, 10).entries == 0
