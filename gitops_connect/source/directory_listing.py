"""The files of a directory that are read: sorted, without hidden files, and links only within the directory.

The same rules hold for a commit and for a working tree, so that both have the same plan. A file that is left out causes
a diagnostic and not an exception: a bad link blocks no other file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from gitops_connect.errors import SourceRefused
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Entry

MOST_FILES = 100_000
"""The limit includes directories, because a dozen tree objects can describe 10^10 directories without a single file."""
LARGEST = 4 * 1024**3
"""Bytes of one file of a working tree, which is read completely for its blob id. 10,000,000 entries have 1 GiB."""
_MOST_LINKS = 40
_BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Characters that change the order in which a name is shown (CVE-2021-42574)."""


class PathKind(Enum):
    FILE = "file"
    DIRECTORY = "directory"
    """Only counted."""
    LINK = "link"
    SUBMODULE = "submodule"
    TOO_LARGE = "too large"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One path in bytes, which may be in no known encoding. `link` is the target of a symbolic link."""

    path: bytes
    kind: PathKind
    blob_id: str = ""
    size: int | None = None
    link: bytes = b""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files that are read, sorted by path, and diagnostics about those that are left out."""

    entries: tuple[Entry, ...]
    diagnostics: Diagnostics


class _Refused(Exception):
    """A path is left out: the rule, and the reason."""

    def __init__(self, rule: str, summary: str, hint: str) -> None:
        super().__init__(summary)
        self.rule, self.hint = rule, hint


_SPECIAL = ("source/special-file", "this is neither a file nor a directory, and is not read", "remove it")
_NOT_READ = {
    PathKind.SUBMODULE: (
        "source/submodule",
        "a submodule is not read, so its content is not part of the desired state",
        "move the documents into this repository, or set [repository] path",
    ),
    PathKind.TOO_LARGE: (
        "source/file-too-large",
        f"the file is larger than {LARGEST // 1024**3} GiB and is not read",
        "remove it; if it is an offset manifest, store it elsewhere and use manifest.uri",
    ),
    PathKind.SPECIAL: _SPECIAL,
    PathKind.DIRECTORY: _SPECIAL,
}
"""The rule, the reason and the hint for paths that are left out."""


def bounded(found: Iterable[FoundFile], where: str) -> Iterator[FoundFile]:
    """The paths without directories. Raises SourceRefused if there are more than `MOST_FILES`, directories included."""
    for number, item in enumerate(found, start=1):
        if number > MOST_FILES:
            advice = "set [repository] path to the directory that contains the documents"
            what = f"more than {MOST_FILES:,} files and directories, which is the limit"
            raise SourceRefused(f"{where}: {what}: {advice}")
        if item.kind is not PathKind.DIRECTORY:
            yield item


def arrange(found: Iterable[FoundFile]) -> Listing:
    """Select the files that are read, and report the others."""
    by_path = {item.path: item for item in found}
    directories = {directory for path in by_path for directory in _parents(path)}
    entries: list[Entry] = []
    diagnostics: list[Diagnostic] = []
    for item in by_path.values():
        if is_hidden(item.path):
            continue
        try:
            name = _readable_name(item.path)
            file = _resolve(item, by_path, directories)
            entries.append(Entry(name, file.blob_id, file.size))
        except _Refused as reason:
            severity = Severity.WARNING if item.kind in (PathKind.SUBMODULE, PathKind.TOO_LARGE) else Severity.ERROR
            location = Location(printable(item.path))
            diagnostics.append(Diagnostic(severity, reason.rule, str(reason), location, reason.hint))
    return Listing(tuple(sorted(entries, key=lambda entry: entry.path)), Diagnostics.of(diagnostics))


def _parents(path: bytes) -> Iterator[bytes]:
    yield b""
    end = path.find(b"/")
    while end != -1:
        yield path[:end]
        end = path.find(b"/", end + 1)


def is_hidden(path: bytes) -> bool:
    """A name that begins with a dot belongs to a tool: `.github/workflows/ci.yml` is no document."""
    return path.startswith(b".") or b"/." in path


def printable(path: bytes) -> str:
    """The path as text, with escapes for all characters that a terminal would not show unchanged."""
    text = path.decode(errors="backslashreplace")
    return "".join(
        character if not _is_odd(character) else character.encode("unicode_escape").decode() for character in text
    )


def _readable_name(path: bytes) -> str:
    try:
        name = path.decode()
        is_odd = not name.isprintable() and any(map(_is_odd, name))  # the first alone rejects more, and is quick
        why = "contains a line break or another character that is not printable" if is_odd else ""
    except UnicodeDecodeError:
        name, why = "", "is not UTF-8"
    if why:
        hint = "rename it with printable characters in UTF-8"
        raise _Refused("source/file-name", f"the file's name {why}, and the file is not read", hint)
    return name


def _is_odd(character: str) -> bool:
    odd_category = unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
    return odd_category or unicodedata.bidirectional(character) in _BIDI_CONTROLS


def _resolve(item: FoundFile, by_path: dict[bytes, FoundFile], directories: set[bytes]) -> FoundFile:
    if item.kind is PathKind.FILE:
        return item
    if item.kind is not PathKind.LINK:
        raise _Refused(*_NOT_READ[item.kind])
    shown = printable(item.link)
    path = _follow(item, by_path, shown)
    target = by_path.get(path)
    if target is not None and target.kind is PathKind.FILE:
        return target
    if path in directories:
        summary = f"the link points to the directory {shown}, and only links to files are followed"
        raise _Refused("source/link-to-directory", summary, "link the files one by one, or move the directory here")
    raise _Refused("source/broken-link", f"the link points to {shown}, which does not exist", "fix or remove the link")


def _follow(link: FoundFile, by_path: dict[bytes, FoundFile], shown: str) -> bytes:
    """The target of the link, resolved as in a file system: a part of its path may be a link too."""
    summary = f"the link points to {shown}, outside of the directory that is read"
    hint = "copy the file here: nothing outside of [repository] path is read"
    outside = _Refused("source/link-out-of-tree", summary, hint)
    done: list[bytes] = []
    todo = link.path.split(b"/")
    links = 0
    while todo:
        part = todo.pop(0)
        if part == b"..":
            if not done:
                raise outside
            done.pop()
        elif part not in (b"", b"."):
            here = by_path.get(b"/".join([*done, part]))
            if here is None or here.kind is not PathKind.LINK:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                why = f"the link points to {shown}, which leads back to the link"
                raise _Refused("source/broken-link", why, "remove it")
            if here.link.startswith(b"/"):
                raise outside
            todo = here.link.split(b"/") + todo
    return b"/".join(done)
