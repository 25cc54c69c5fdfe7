"""Chooses the reader of a file: by the format that the user names, by the suffix, or by the content."""

from __future__ import annotations

import re
from collections.abc import Callable

from gitops_connect.desired.file_content import MAX_SIZE
from gitops_connect.desired.foreign import documents, ksqldb, standalone, terraform
from gitops_connect.desired.foreign.findings import Findings
from gitops_connect.desired.refused import Refused
from gitops_connect.model.declarations import FileReading
from gitops_connect.model.documents import Blob
from gitops_connect.model.file_formats import FileFormat

_SUFFIXES = {
    ".yaml": None,
    ".yml": None,
    ".json": None,
    ".properties": FileFormat.PROPERTIES,
    ".tf": FileFormat.TERRAFORM,
    ".tfstate": None,
    ".sql": FileFormat.KSQLDB,
    ".ksql": FileFormat.KSQLDB,
}
"""The format of each suffix; None: YAML or JSON, which say themselves what they are."""
SUFFIXES = tuple(_SUFFIXES)
_SQL = re.compile(rb"\bCREATE\s++(?:SOURCE|SINK)\s++CONNECTOR\b", re.IGNORECASE)
_HCL = re.compile(rb'^[ \t]*+resource\s++"', re.MULTILINE)
_PROPERTY = re.compile(rb"^[ \t\f]*+connector\.class[ \t\f]*+=", re.MULTILINE)
_BY_CONTENT = ((_SQL, FileFormat.KSQLDB), (_HCL, FileFormat.TERRAFORM), (_PROPERTY, FileFormat.PROPERTIES))
_TEXT: dict[FileFormat, Callable[[Blob, Findings], None]] = {
    FileFormat.PROPERTIES: standalone.read,
    FileFormat.TERRAFORM: terraform.read,
    FileFormat.KSQLDB: ksqldb.read,
}


def read(blob: Blob, forced: FileFormat | None = None) -> FileReading:
    """The connectors of a file. `forced` is the format that the user names, or None."""
    findings = Findings(blob.path)
    if len(blob.content) > MAX_SIZE:
        summary = f"the file is larger than {MAX_SIZE // 1024**2} MiB; it is not read"
        findings.error("document/too-large", summary, (1, 1), "split it")
        return findings.reading()
    found = forced or _format_of(blob)
    is_json = found is FileFormat.TERRAFORM and blob.content.lstrip()[:1] == b"{"
    try:
        if found in _TEXT and not is_json:
            _TEXT[found](blob, findings)
        else:
            documents.read(blob, forced, findings)
    except Refused as refused:
        findings.error(refused.rule, refused.summary, refused.place, refused.hint)
    return findings.reading()


def _format_of(blob: Blob) -> FileFormat | None:
    suffix = next((one for one in SUFFIXES if blob.path.endswith(one)), None)
    if suffix is not None:
        return _SUFFIXES[suffix]
    if blob.content.lstrip()[:1] in (b"{", b"["):
        return None
    return next((found for pattern, found in _BY_CONTENT if pattern.search(blob.content)), None)
