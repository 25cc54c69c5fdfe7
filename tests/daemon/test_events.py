"""What is said, and how often."""

from __future__ import annotations

import re
from pathlib import Path

from gitops_connect.daemon import events

ROOT = Path(__file__).parents[2]


def test_news_is_what_was_not_so_before() -> None:
    news = events.News()
    assert news.of(["a", "b"]) == ["a", "b"]
    assert news.of(["a", "b"]) == []
    assert news.of(["b", "c"]) == ["c"]
    assert news.of(["a", "c"]) == ["a"], "what comes back is news again"


def test_every_event_and_field_is_explained_to_operators() -> None:
    source = Path(events.__file__).read_text()
    page = (ROOT / "docs" / "run.md").read_text()
    names = set(re.findall(r'_say(?:_error)?\((?:\s*logging\.\w+|\s*level|\s*_level\([\w.]+\)),\s*"([^"]+)"', source))
    names |= set(re.findall(r'_say_error\("([^"]+)"', source)) | set(re.findall(r'log\.error\("([^"]+)"', source))
    assert len(names) >= 12
    assert not {name for name in names if f"`{name}`" not in page}
    fields = set(re.findall(r"\b(\w+)=(?!exc_info)", source.partition("def revision_seen")[2])) - {"extra", "exc_info"}
    assert not {field for field in fields if f"`{field}`" not in page}
