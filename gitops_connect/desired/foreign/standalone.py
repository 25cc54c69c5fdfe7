"""A connector of a standalone worker, in a `.properties` file."""

from __future__ import annotations

from gitops_connect.desired.fields import CLASS, NAME
from gitops_connect.desired.foreign import properties
from gitops_connect.desired.foreign.findings import MAX_KEYS, Draft, Findings, too_many
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.file_formats import FileFormat
from gitops_connect.model.masking import masked_value
from gitops_connect.model.sensitivity import is_sensitive_key

_WORKER = "bootstrap.servers"


def read(blob: Blob, findings: Findings) -> None:
    """Read the file as a standalone worker does: with Java's `Properties`. Raises Refused."""
    repeated, bare = dict[str, int](), list[int]()
    try:
        found = _last_values(blob, repeated, bare)
    except properties.MalformedEscape as error:
        findings.error("convert/syntax", f"Java rejects this file: {error}", (error.line, 1), "write \\\\u for \\u")
        return
    if CLASS not in found:
        what = "of a worker" if _WORKER in found else "without connector.class"
        findings.note("convert/no-connector", f"these are properties {what}: they are ignored", (1, 1))
        return
    name = found[NAME].value if NAME in found else ""
    findings.begin(name)
    if not name:
        findings.error("convert/name", "the connector has no name", (1, 1), "add a line `name=…`")
        return
    draft = Draft(name, FileFormat.PROPERTIES, Location(blob.path))
    for key, one in found.items():
        draft.config[key], draft.places[key] = one.value, Location(blob.path, one.line)
    for line in bare:
        summary = "the line has no = after its key: it may be the rest of the value above"
        findings.error("convert/secret", summary, (line, 1), "end a line that continues with a backslash")
    for key, line in repeated.items():
        summary = f"the key {key!r} repeats: Java uses the last value, which is this one"
        findings.warning("convert/duplicate-key", summary, (line, 1), "keep only the correct value")
    _warn_of_encoding(draft, findings)
    findings.declare(draft)


def _last_values(blob: Blob, repeated: dict[str, int], bare: list[int]) -> dict[str, properties.Property]:
    """The last property of each key. `repeated` gets the last line of each key that occurs more than once.

    `bare` gets the lines without a separator that may be a part of a secret.
    """
    found: dict[str, properties.Property] = {}
    before = ""
    for one in properties.parse(blob.content):
        if not one.has_separator and (not one.value or is_sensitive_key(before)):
            bare.append(one.line)
        before = one.key
        if one.key in found:
            repeated[one.key] = one.line
        found[one.key] = one
        if len(found) > MAX_KEYS:
            raise too_many(Location(blob.path, one.line))
    return found


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
