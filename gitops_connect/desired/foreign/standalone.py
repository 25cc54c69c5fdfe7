"""A connector of a standalone worker, in a `.properties` file."""

from __future__ import annotations

from gitops_connect.desired.fields import CLASS, NAME
from gitops_connect.desired.foreign import properties
from gitops_connect.desired.foreign.findings import Draft, Findings
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.file_formats import FileFormat

_WORKER = "bootstrap.servers"


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
    for one in found:
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
            summary = f"the value of {key!r} is read as Latin-1, as a worker does: {value!r}. In UTF-8 it is {meant!r}"
            findings.warning("convert/encoding", summary, draft.locate(key), "correct the value in the new file")
