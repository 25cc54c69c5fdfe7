"""The names that `import` chooses for files and for environment variables, from the names of connectors and keys."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from gitops_connect.model.names import ConnectorName

_LONGEST = 200
"""Characters. File systems allow 255 bytes, and some are for the suffix."""


class UniqueNames:
    """Uses each name once. Case does not count, because some file systems ignore it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in taken}
        self._numbers: dict[str, int] = defaultdict(lambda: 1)

    def choose(self, name: str, separator: str) -> str:
        """The name, with a number at its end if it is taken."""
        chosen = name
        while chosen.lower() in self._taken:
            self._numbers[name.lower()] += 1
            chosen = f"{name}{separator}{self._numbers[name.lower()]}"
        self._taken.add(chosen.lower())
        return chosen


def file_stems(names: Collection[ConnectorName]) -> Mapping[ConnectorName, str]:
    """A file name without suffix for each connector. A connector whose name is a safe file name has the first choice.

    A file name does not begin with a dot: hidden files are not read.
    """
    stems = {name: re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-")[:_LONGEST] or "connector" for name in names}
    unique = UniqueNames()
    return {name: unique.choose(stems[name], "-") for name in sorted(names, key=lambda one: (stems[one] != one, one))}


def variable_name(*parts: str) -> str:
    """The name of an environment variable that is not one of gitops-connect's own settings."""
    name = re.sub(r"[^A-Z0-9]", "_", "_".join(part[:_LONGEST] for part in parts).upper())
    return f"_{name}" if name[0].isdigit() or name.startswith("GITOPS_CONNECT_") else name
