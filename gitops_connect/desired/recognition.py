"""Which files and documents are ours: everything else in a repository is left alone, and no slip makes ours vanish."""

from __future__ import annotations

import re
from enum import Enum

from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import KINDS, Document
from gitops_connect.model.suggestions import closest

API_VERSION = "gitops-connect/v1"
GROUP = "gitops-connect/"
SUFFIXES = (".yaml", ".yml", ".json")

_OURS = re.compile(rb"^[^#\n]*\bgitops-connect/v\d", re.MULTILINE)
_KIND = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?(?:Connector|OffsetChange)\b")


class Membership(Enum):
    """Whether a document is one of ours."""

    OURS = "ours"
    MISTAKEN = "mistaken"
    """Meant to be, and does not say so."""
    FOREIGN = "foreign"


def is_visible(path: str) -> bool:
    """True for YAML and JSON files, unless they or a folder above them are hidden (begin with a dot)."""
    return path.endswith(SUFFIXES) and not any(part.startswith(".") for part in path.split("/"))


def says_ours(content: bytes) -> bool:
    """True where a line names our API version: whatever is wrong in such a file is ours to report."""
    return _OURS.search(_narrow(content)) is not None


def may_be_ours(content: bytes) -> bool:
    """True where the file is worth parsing: it names our API version, or one of our kinds."""
    return says_ours(content) or _KIND.search(_narrow(content)) is not None


def _narrow(content: bytes) -> bytes:
    """UTF-16 and UTF-32 without their zero bytes, so that a file in the wrong encoding is reported and not ignored."""
    return content.replace(b"\0", b"") if b"\0" in content else content


def classify(document: Document, *, among_ours: bool) -> Membership:
    """What a document is, by its `apiVersion` and `kind`; `among_ours` where its file holds others that are ours."""
    version = document.value.get("apiVersion")
    if isinstance(version, str) and version.startswith(GROUP):
        return Membership.OURS
    if isinstance(version, str) and _is_foreign(version):
        return Membership.FOREIGN
    kind = document.value.get("kind")
    meant = (isinstance(kind, str) and kind in KINDS) or (among_ours and version is None and not _is_manifest(document))
    return Membership.MISTAKEN if meant else Membership.FOREIGN


def _is_manifest(document: Document) -> bool:
    """True for a list of offsets, in whose values our API version may well be named."""
    return document.value.keys() == {"offsets"}


def _is_foreign(version: str) -> bool:
    """True for the API groups of others, which are domains: `platform.confluent.io/v1beta1` has a Connector too."""
    return "." in version.partition("/")[0] and closest(version, [API_VERSION]) is None


def mistake(document: Document) -> Diagnostic:
    """What to say of a document that is meant to be ours."""
    version = document.value.get("apiVersion")
    found = f"apiVersion is {version!r}" if version is not None else "apiVersion is missing" + _misspelt(document)
    return Diagnostic(
        Severity.ERROR,
        "document/api-version",
        f"{found}, expected {API_VERSION!r}",
        document.locate(("apiVersion",)),
        f"write `apiVersion: {API_VERSION}`, or move the file away from the documents",
        document.connector,
    )


def _misspelt(document: Document) -> str:
    key = closest("apiVersion", document.value)
    return f" (found {key!r} instead)" if key is not None else ""


def look_alike(document: Document) -> Diagnostic | None:
    """The warning for somebody else's kind of the same name, which is left alone; None for everything else."""
    kind, version = document.value.get("kind"), document.value.get("apiVersion")
    if kind not in KINDS or not isinstance(version, str) or not _is_foreign(version):
        return None
    summary = f"a {kind} of {version} is not a gitops-connect document, and is ignored"
    return Diagnostic(Severity.WARNING, "document/foreign", summary, document.locate(("apiVersion",)))
