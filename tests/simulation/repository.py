"""A repository of documents, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Entry
from gitops_connect.model.names import Revision
from gitops_connect.source.checkout import Checkout

_SCHEMA = "offset-schemas/org.example.Numbers.schema.json"
_OTHER = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: other}\nspec: {class: X, state: absent}\n"
"""Always declared, because a repository that declares nothing at all prunes nothing."""


@dataclass
class Repository:
    """Files in memory, as a `Source` and as its `ContentReader`."""

    files: dict[str, str] = field(
        default_factory=lambda: {_SCHEMA: '{"x-position": ["n"], "x-unit": "numbers"}', "other.yaml": _OTHER}
    )
    commits: int = 0
    revision: Revision = Revision(f"{0:040}")  # noqa: RUF009 - it cannot be changed
    last_good: Checkout | None = None
    _history: dict[Revision, Mapping[str, str]] = field(default_factory=dict)

    def commit(self, changed: Mapping[str, str | None]) -> None:
        """Change these files in one commit; None removes a file."""
        self.commits += 1
        self.revision = Revision(f"{self.commits:040}")
        self.files.update({path: text for path, text in changed.items() if text is not None})
        for path, text in changed.items():
            if text is None:
                self.files.pop(path, None)
        self._history[self.revision] = {**self.files}

    def at(self, revision: Revision) -> Mapping[str, str]:
        """The files at an earlier commit."""
        return self._history[revision]

    def force(self, revision: Revision) -> None:
        """Let the branch end with an earlier commit."""
        self.files, self.revision = {**self._history[revision]}, revision

    def fetch(self) -> Checkout:
        entries = tuple(Entry(path, f"{hash(text)}", len(text)) for path, text in sorted(self.files.items()))
        return Checkout(self.revision, entries, Diagnostics(), Repository({**self.files}))

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        return (self.files[entry.path].encode()[:at_most] for entry in entries)

    def close(self) -> None:
        """Nothing has to be closed."""
