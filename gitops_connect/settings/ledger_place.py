"""The path of the ledger if `[state] url` is not set.

It is next to the settings file, except in a Git work tree: there, one `git add -A` would publish it with its key. Then
it is in the user's state directory, unless there is an older ledger next to the settings file.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from platformdirs import user_state_path

from gitops_connect.errors import UsageError

NAME = "state.db"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def work_tree(directory: Path) -> Path | None:
    """The Git work tree that contains the directory, or None."""
    real = directory.resolve()
    return next((one for one in (real, *real.parents) if (one / ".git").exists()), None)


def place_outside(directory: Path) -> Path | None:
    """The ledger in the user's state directory for the settings in `directory`; None if the user has no home."""
    state, real = user_state_path("gitops-connect"), directory.resolve()
    digest = hashlib.sha256(str(real).encode(errors="surrogateescape")).hexdigest()[:8]
    name = _UNSAFE.sub("-", real.name) or "root"
    return state / f"{name}-{digest}" / NAME if state.is_absolute() else None


def chosen_place(directory: Path) -> Path:
    """The ledger that exists; if there is none, the place for a new one."""
    here, outside = directory / NAME, place_outside(directory)
    if outside is None or here.exists():
        return here
    return outside if outside.exists() or work_tree(directory) else here


def prepare_place(directory: Path) -> None:
    """Create the directory of the chosen ledger. Raises UsageError if that fails, or if there are two ledgers."""
    here, chosen, outside = directory / NAME, chosen_place(directory), place_outside(directory)
    if outside is None:
        return
    if here.exists() and outside.exists():
        advice = "keep the one that was used last, and move the other one away, or set [state] url"
        raise UsageError(f"there are two ledgers, {here} and {outside}: {advice}")
    if chosen == outside:
        try:
            outside.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            why = f"the directory {outside.parent} of the ledger cannot be created: {error.strerror}"
            raise UsageError(f"{why}; set [state] url to a file in another directory") from error
