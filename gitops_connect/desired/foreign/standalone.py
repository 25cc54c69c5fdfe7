"""A connector of a standalone worker, in a `.properties` file."""

from __future__ import annotations

import re
from itertools import pairwise

from gitops_connect.desired.fields import CLASS, NAME
from gitops_connect.desired.foreign import properties
from gitops_connect.desired.foreign.findings import Draft, Findings
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.file_formats import FileFormat
from gitops_connect.model.masking import masked_value
from gitops_connect.model.sensitivity import is_sensitive_key

_WORKER = "bootstrap.servers"
_SEPARATED = re.compile(rb"[=:]|\\\Z")
"""A line with its separator, or one that continues."""


def read(blob: Blob, findings: Findings) -> None:
    """Read the file as a standalone worker does: with Java's `Properties`."""
    try:
        found = properties.parse(blob.content)
    except properties.MalformedEscape as error:
        findings.error("convert/syntax", f"Java rejects this file: {error}", (error.line, 1), "write \\\\u for \\u")
        return
    config = {one.key: one.value for one in found}
    if CLASS not in config:
        what = "of a worker" if _WORKER in config else "without connector.class"
        findings.note("convert/no-connector", f"these are properties {what}: they are ignored", (1, 1))
        return
    name = config.get(NAME)
    findings.begin(name)
    if not name:
        findings.error("convert/name", "the connector has no name", (1, 1), "add a line `name=…`")
        return
    draft = Draft(name, FileFormat.PROPERTIES, Location(blob.path))
    lines = blob.content.splitlines()
    for before, one in pairwise([found[0], *found]):
        if not _SEPARATED.search(lines[one.line - 1]) and (not one.value or is_sensitive_key(before.key)):
            summary = "the line has no = after its key: it may be the rest of the value above"
            findings.error("convert/secret", summary, (one.line, 1), "end a line that continues with a backslash")
        if one.key in draft.config:
            summary = f"the key {one.key!r} repeats: Java uses the last value, which is this one"
            findings.warning("convert/duplicate-key", summary, (one.line, 1), "keep only the correct value")
        draft.config[one.key] = one.value
        draft.places[one.key] = Location(blob.path, one.line)
    _warn_of_encoding(draft, findings)
    findings.declare(draft)


def _warn_of_encoding(draft: Draft, findings: Findings) -> None:
    """A file in UTF-8 has other values for a worker, which reads Latin-1."""
    for key, value in draft.config.items():
        try:
            meant = value.encode("latin-1").decode()
        except UnicodeError:
            continue
        if meant != value:
            shown, other = masked_value(key, value), masked_value(key, meant)
            summary = f"the value of {key!r} is read as Latin-1, as a worker does: {shown!r}. In UTF-8 it is {other!r}"
            findings.warning("convert/encoding", summary, draft.locate(key), "correct the value in the new file")
