"""The path that a document gives of a manifest -> the file of the repository that it means."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from gitops_connect.model.entries import Entry
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.suggestions import closest

_NEIGHBOURS = 100
"""Files of one folder that a misspelt name is compared with: each takes a moment."""


class Lost(NamedTuple):
    """Why a path means no file."""

    rule: str
    summary: str
    hint: str


class ManifestFiles:
    """The files of a checkout, by path. Nothing is sorted before the first manifest is looked for."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = entries

    def find(self, path: str, document: str, connector: ConnectorName) -> Entry | Lost:
        """The file for that connector, at a path that stands in the document with that path.

        A path begins at the repository's folder, or with `./` or `../` at the document's. A folder stands for the file
        in it that has the connector's name, as in Strimzi's ConfigMaps (Strimzi proposal 083).
        """
        resolved = _resolve(path, document)
        if resolved is None:
            hint = "a path begins at the repository's folder, or with ./ at the folder of its document"
            return Lost("offsets/path", f"the path {path!r} leads out of the repository", hint)
        if path.endswith("/") or not resolved or self._is_folder(resolved):
            names = [f"{name}.json" for name in (connector.replace("->", "--"), connector)]
            wanted = [f"{resolved}/{name}" if resolved else name for name in names]
        else:
            wanted = [resolved]
        found = next((self._by_path[one] for one in wanted if one in self._by_path), None)
        return found if found is not None else self._lost(wanted[0])

    def _lost(self, path: str) -> Lost:
        nearest = self._nearest(path)
        suggestion = f"; did you mean {nearest!r}?" if nearest is not None else ""
        hint = "a manifest is a file of the same repository, and no link out of it"
        return Lost("offsets/no-file", f"there is no file {path!r} in the repository{suggestion}", hint)

    def _nearest(self, path: str) -> str | None:
        """The file of that name in another folder, or one of the same folder whose name is like it."""
        folder, _, name = path.rpartition("/")
        if name in self._by_name:
            return self._by_name[name][0]
        beside = {other.rpartition("/")[2]: other for other in self._inside(folder)}
        candidate = closest(name, beside)
        return beside[candidate] if candidate is not None else None

    def _inside(self, folder: str) -> Iterator[str]:
        """The first files that lie in the folder itself."""
        start = f"{folder}/" if folder else ""
        under = self._paths[bisect_left(self._paths, start) : bisect_left(self._paths, start + "\U0010ffff")]
        return islice((path for path in under if "/" not in path[len(start) :]), _NEIGHBOURS)

    def _is_folder(self, path: str) -> bool:
        index = bisect_left(self._paths, f"{path}/")
        return index < len(self._paths) and self._paths[index].startswith(f"{path}/")

    @cached_property
    def _by_path(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in self._entries}

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self._by_path)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        names = defaultdict(list)
        for path in self._paths:
            names[path.rpartition("/")[2]].append(path)
        return dict(names)


def _resolve(path: str, document: str) -> str | None:
    """The path from the repository's folder, without dots; None where it leads out of it."""
    if path.startswith("/"):
        return None
    steps = path.split("/")
    parts: list[str] = []
    from_document: Sequence[str] = document.split("/")[:-1] if steps[0] in (".", "..") else ()
    for step in (*from_document, *steps):
        if step == "..":
            if not parts:
                return None
            parts.pop()
        elif step not in ("", "."):
            parts.append(step)
    return "/".join(parts)
