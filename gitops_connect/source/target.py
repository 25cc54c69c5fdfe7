"""The commit that the settings follow (the tip of a branch, a tag, or one commit), and the directory in it."""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from enum import Enum

from gitops_connect.errors import UsageError
from gitops_connect.settings.sections import RepositorySettings

_COMMIT = re.compile(r"[0-9a-f]{40}")
# git-check-ref-format(1). A colon or a star would change the meaning of a refspec.
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|\.lock$|^\.|/\.|^-")


class TargetKind(Enum):
    """The type of reference that the settings name."""

    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Target:
    """A branch, tag or commit, by its short name."""

    kind: TargetKind
    name: str

    @property
    def wanted(self) -> str:
        """The value that git gets: the full name of the reference, or the commit's id."""
        match self.kind:
            case TargetKind.BRANCH:
                return f"refs/heads/{self.name}"
            case TargetKind.TAG:
                return f"refs/tags/{self.name}"
            case TargetKind.COMMIT:
                return self.name

    @property
    def good_ref(self) -> str:
        """The reference in the clone that stores the last good commit of this target."""
        digest = hashlib.sha256(str(self).encode()).hexdigest()[:16]
        return f"refs/gitops-connect/good/{digest}"

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name!r}"


def parse_target(settings: RepositorySettings) -> Target:
    """The target of the settings. Raises UsageError if both a tag and a commit are set, or if a name is invalid."""
    if settings.tag and settings.commit:
        raise UsageError("[repository] tag and commit are both set; keep one of them")
    if settings.commit:
        commit = settings.commit.strip().lower()
        if not _COMMIT.fullmatch(commit):
            raise UsageError(f"[repository] commit: expected all 40 hex digits, found {settings.commit!r}")
        return Target(TargetKind.COMMIT, commit)
    target = Target(TargetKind.TAG, settings.tag) if settings.tag else Target(TargetKind.BRANCH, settings.branch)
    if not target.name or _NO_REF.search(target.name):
        raise UsageError(f"[repository] {target.kind.value}: {target.name!r} is not a valid name in git")
    return target


def is_full_name(ref: str) -> bool:
    """Whether git can only read it as the full name of one reference, and not as an option, a pattern or a refspec."""
    return ref.startswith("refs/") and ref.isprintable() and not _NO_REF.search(ref)


def parse_directory(path: str) -> str:
    """The directory inside the repository, normalized; empty for its root. Raises UsageError if it is outside."""
    directory = posixpath.normpath(path or ".")
    if directory.startswith(("/", "../")) or directory == ".." or not directory.isprintable():
        raise UsageError(f"[repository] path: expected a directory inside the repository, found {path!r}")
    return "" if directory == "." else directory
