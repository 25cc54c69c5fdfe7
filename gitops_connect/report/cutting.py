"""Cuts a document in the middle: leaves out whole items, so that the rest is not longer than a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gitops_connect.report.markdown_blocks import Markdown


@dataclass(frozen=True, slots=True)
class Item:
    """A block that is never cut. `brief` is shown if there is no room for `whole`; None: nothing is shown then."""

    whole: Markdown
    brief: Markdown | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Items of one kind under a heading. `more` is the line for a number of items that are left out."""

    heading: Markdown
    items: tuple[Item, ...]
    more: Callable[[int], Markdown]


def cut(sections: Sequence[Section], room: int) -> Iterator[Markdown]:
    """The blocks of all sections that have items. They take at most `room` characters, with a line feed after each.

    First, every item with a brief form gets it. Then the items get their whole form, as long as there is room: an item
    that is too long does not prevent the later ones.
    """
    filled = [section for section in sections if section.items]
    items = [item for section in filled for item in section.items]
    room -= sum(_size(one.heading) + _size(one.more(len(one.items))) for one in filled)
    shown: list[Markdown | None] = [None] * len(items)
    for forms in ([item.brief for item in items], [item.whole for item in items]):
        for number, form in enumerate(forms):
            size = _size(form) - _size(shown[number])
            if form is not None and size <= room:
                shown[number] = form
                room -= size
    rest = iter(shown)
    for section in filled:
        blocks = [block for block in islice(rest, len(section.items)) if block is not None]
        left_out = len(section.items) - len(blocks)
        yield from (section.heading, *blocks, *([section.more(left_out)] if left_out else []))


def _size(block: Markdown | None) -> int:
    return 0 if block is None else len(block) + 1
