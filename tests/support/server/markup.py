"""A page as a browser parses it."""

from __future__ import annotations

import re
from collections import defaultdict
from html.parser import HTMLParser

EMPTY = {
    *("area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"),
    *("circle", "line", "path", "rect", "use"),
}
"""Elements without an end."""


class Markup(HTMLParser):
    """Tags, the values of each attribute, the levels of headings, and texts. `open`: elements that are not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: defaultdict[str, list[str]] = defaultdict(list)
        self.headings: list[int] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not [name for name in self.attributes if name.startswith("on")], "nothing on a page runs a script"

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes[name].append(value or "")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.open += [tag] if tag not in EMPTY else []

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
