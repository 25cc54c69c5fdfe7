"""Recognises gitops-connect files and documents: all others are ignored, and a typo does not make a document vanish."""

from __future__ import annotations

import re
from enum import Enum

from gitops_connect.model import strimzi
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import KINDS, Document
from gitops_connect.model.found_values import word_or_kind
from gitops_connect.model.suggestions import closest

API_VERSION = "gitops-connect/v1"
GROUP = "gitops-connect/"
JIKKOU = "kafka.jikkou.io/"
SUFFIXES = (".yaml", ".yml", ".json")

_OURS = re.compile(rb"^[^#\n]*\bgitops-connect/v\d", re.MULTILINE)
_KIND = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?(?:Connector|OffsetChange)\b")


class Membership(Enum):
    """Whether a document is a gitops-connect document."""

    OURS = "ours"
    MISTAKEN = "mistaken"
    """Meant to be a gitops-connect document, but with a wrong or missing `apiVersion`."""
    FOREIGN = "foreign"


def is_visible(path: str) -> bool:
    """True for YAML and JSON files, unless they or a directory above them are hidden (begin with a dot)."""
    return path.endswith(SUFFIXES) and not any(part.startswith(".") for part in path.split("/"))


def says_ours(content: bytes) -> bool:
    """True if a line names the API version of gitops-connect: all errors of such a file are reported."""
    return _OURS.search(_narrow(content)) is not None


def may_be_ours(content: bytes) -> bool:
    """True if the file must be parsed: it names the API version or a kind of gitops-connect."""
    return says_ours(content) or _KIND.search(_narrow(content)) is not None


def _narrow(content: bytes) -> bytes:
    """UTF-16 and UTF-32 without their zero bytes, so that a file in the wrong encoding is reported and not ignored."""
    return content.replace(b"\0", b"") if b"\0" in content else content


def classify(document: Document, *, among_ours: bool) -> Membership:
    """What a document is, by `apiVersion` and `kind`; `among_ours` if its file contains gitops-connect documents."""
    version = document.value.get("apiVersion")
    if isinstance(version, str) and version.startswith(GROUP):
        return Membership.OURS
    if isinstance(version, str) and _is_foreign(version):
        return Membership.FOREIGN
    kind = document.value.get("kind")
    meant = (isinstance(kind, str) and kind in KINDS) or (among_ours and version is None and not _is_manifest(document))
    return Membership.MISTAKEN if meant else Membership.FOREIGN


def _is_manifest(document: Document) -> bool:
    """True for a list of offsets, whose values may contain the API version of gitops-connect."""
    return document.value.keys() == {"offsets"}


def _is_foreign(version: str) -> bool:
    """True for API groups of others, which are domains: `platform.confluent.io/v1beta1` has a Connector too."""
    return "." in version.partition("/")[0] and closest(version, [API_VERSION]) is None


def mistake(document: Document) -> Diagnostic:
    """The error for a document that is meant to be a gitops-connect document."""
    version = document.value.get("apiVersion")
    missing = "apiVersion is missing" + _misspelt(document)
    found = f"apiVersion is {word_or_kind(version)}" if version is not None else missing
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
    """The warning for another project's kind of that name, which is ignored; None for everything else."""
    kind, version = document.value.get("kind"), document.value.get("apiVersion")
    if kind not in (*KINDS, *strimzi.KINDS) or not isinstance(version, str) or not _is_foreign(version):
        return None
    if kind in strimzi.KINDS and closest(version.partition("/")[0], [strimzi.GROUP]) is not None:
        return None
    summary = f"a {kind} of {version} is not a gitops-connect document, and is ignored"
    hint = "`gitops-connect convert` reads it" if version.startswith(JIKKOU) else ""
    return Diagnostic(Severity.WARNING, "document/foreign", summary, document.locate(("apiVersion",)), hint)
