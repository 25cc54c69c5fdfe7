"""Files whose content a row of a YAML table describes, and which are written when the row runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hostile.packed import gzip_of_zeros, zstd_of

PACKED = {
    "10 GB of zeros in gzip": partial(gzip_of_zeros, 10 * 10**9),
    "10 GiB of zeros in gzip": partial(gzip_of_zeros, 10 * 1024**3),
    "10 GB of zeros in zstd": partial(zstd_of, b"\0", 10 * 10**9),
    "10 GB of spaces in zstd": partial(zstd_of, b" ", 10 * 10**9),
}


@dataclass(frozen=True)
class Content:
    """`before`, `item` as many times as `count` says, each with its number instead of #, and `after`."""

    before: str = ""
    item: str = ""
    count: int = 0
    after: str = ""
    encoding: str = "utf-8"
    packed: str = ""
    """A key of PACKED, instead of the other fields."""
    size: int = 0
    """In GiB. The file is sparse."""

    def encoded(self, texts: Mapping[str, str]) -> bytes:
        """The content with the texts instead of their names in angle brackets."""
        if self.packed:
            return PACKED[self.packed]()
        item = expanded(self.item, texts)
        items = [item.replace("#", str(number)) for number in range(self.count)] if "#" in item else [item * self.count]
        whole = "".join([expanded(self.before, texts), *items, expanded(self.after, texts)])
        return whole.encode(self.encoding)

    def write(self, path: Path, texts: Mapping[str, str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.encoded(texts))
        if self.size:
            os.truncate(path, self.size * 1024**3)


def expanded(text: str, texts: Mapping[str, str]) -> str:
    """The text with the other texts instead of their names; a text may contain a name of a text before it."""
    for name, other in reversed(texts.items()):
        text = text.replace(f"<{name}>", other)
    return text
