"""Chooses the reader of a file by its format, its suffix or its content; of YAML and JSON by each document's fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from gitops_connect.documents import recognition
from gitops_connect.documents.encoding import Refused, decode
from gitops_connect.documents.fields import items_of
from gitops_connect.documents.fields import read as read_values
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.documents.recognition import GROUP, JIKKOU
from gitops_connect.documents.yaml import parse, parse_each
from gitops_connect.exchange.declarations import FileFormat, FileReading
from gitops_connect.exchange.readers import (
    forms,
    jikkou,
    json_configs,
    json_nodes,
    ksqldb,
    openshift,
    properties,
    terraform,
)
from gitops_connect.exchange.readers.reading import Findings, Part
from gitops_connect.model import strimzi
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import CONNECTOR, KINDS, Blob, Document

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
    FileFormat.PROPERTIES: properties.read,
    FileFormat.TERRAFORM: terraform.read,
    FileFormat.KSQLDB: ksqldb.read,
}
_MAPPINGS = (terraform.read_json, json_configs.read, forms.read_nested)
_LOOK_ALIKES = (CONNECTOR, *strimzi.KINDS)
_MAX_UNREADABLE = 10
"""Documents of one file. A document of which nothing can be read may cost as much time as a large one."""
_TEMPLATE = re.compile(rb"\{\{|\$\{\{")
_MENTIONS = re.compile(
    rb"connector\.class|connectorClass|kafka-connect_connector|aiven_kafka_connector|confluent_connector"
    rb"|aws_mskconnect_connector|platform\.confluent\.io|KafkaConnector|KafkaMirrorMaker|gitops-connect/v\d"
)
"""What every file with a connector contains. Errors of other files are not reported as errors."""


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
            for part in _parts(blob, findings):
                _read_one(part, forced, findings)
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


@lru_cache(maxsize=2)
def _contains(pattern: re.Pattern[bytes], content: bytes) -> bool:
    """Whether the file matches. This is asked for each problem of a file."""
    return pattern.search(content) is not None


def _parts(blob: Blob, findings: Findings) -> Iterator[Part]:
    start = blob.content.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        yield from _json(blob) if start[:1] in (b"{", b"[") and not start.startswith(b"{{") else _yaml(blob, findings)
    except Refused as refused:
        place = Location(blob.path, *refused.place)
        _report(blob, Diagnostic(Severity.ERROR, refused.rule, refused.summary, place, refused.hint), findings)


def _json(blob: Blob) -> Iterator[Part]:
    """The root of a JSON file, which may be a list. YAML may begin with a bracket, too."""
    text = decode(blob.content)
    try:
        root = json_nodes.compose(text)
    except Refused as refused:
        parsed = parse(blob)
        if parsed.diagnostics or blob.path.endswith(".json"):
            raise refused from None
        yield from map(Part.of, parsed.documents)
        return
    reading = read_values(root, max_nodes=2 * json_nodes.MAX_VALUES)
    for refusal in reading.refusals:
        raise refusal
    document = Document(Location(blob.path, *root.place), reading.value, reading.positions, reading.texts)
    yield Part(document, reading.value)


def _yaml(blob: Blob, findings: Findings) -> Iterator[Part]:
    values = unreadable = 0
    for parsed in parse_each(blob):
        for problem in parsed.diagnostics:
            _report(blob, problem, findings)
        for document in (*parsed.documents, *parsed.broken):
            values += len(document.positions)
            if values > json_nodes.MAX_VALUES:
                raise json_nodes.too_many_values((document.location.line, document.location.column))
        unreadable += not parsed.complete
        if unreadable == _MAX_UNREADABLE:
            place = next(iter(parsed.diagnostics)).location
            summary = f"{unreadable} documents of the file cannot be read: the rest of the file is not read"
            raise Refused("yaml/syntax", summary, (place.line, place.column))
        yield from map(Part.of, parsed.documents)


def _report(blob: Blob, problem: Diagnostic, findings: Findings) -> None:
    """An error; a note if the file can declare no connector. A template is named as such."""
    where = problem.location
    if not _contains(_MENTIONS, blob.content):
        summary = f"the file contains no connector, and cannot be read: {problem.summary}"
        findings.note("convert/no-connector", summary, where)
    elif _contains(_TEMPLATE, blob.content):
        summary = f"the file is a template, which has to be rendered first: {problem.summary}"
        hint = "convert the output of the template, as of `helm template`, or put each expression in quotes"
        findings.error("convert/template", summary, where, hint)
    else:
        findings.error(problem.rule, problem.summary, where, problem.hint)


def _read_one(part: Part, forced: FileFormat | None, findings: Findings) -> None:
    listed = part if isinstance(part.value, list) else part.get("items")
    if isinstance(listed.value, list) and (listed is part or str(part.get("kind").value).endswith("List")):
        for item in items_of(listed.document, listed.value, listed.pointer):
            _read_one(Part.of(item), forced, findings)
        return
    if openshift.is_template(part):
        for item in openshift.objects(part, findings):
            _read_one(Part.of(item), forced, findings)
        return
    recognized = _read_resource(part, forced, findings) if isinstance(part.value, Mapping) else False
    if not (recognized or any(read(part, findings) for read in _MAPPINGS)):
        kind = part.get("kind").value
        what = f"a {kind}" if isinstance(kind, str) else "no connector"
        findings.note(
            "convert/no-connector", f"the document is {what}, in none of the formats: it is ignored", part.location
        )


def _read_resource(part: Part, forced: FileFormat | None, findings: Findings) -> bool:
    """Read a resource with `apiVersion` and `kind`. Returns whether it is one that declares a connector."""
    version, kind = str(part.get("apiVersion").value or ""), part.get("kind").value
    if forced not in (FileFormat.GITOPS_CONNECT, FileFormat.STRIMZI, FileFormat.JIKKOU) and forms.read(part, findings):
        return True
    group = version.partition("/")[0]
    if group in strimzi.COPIES or forced is FileFormat.STRIMZI:
        part = Part.of(recognition.as_strimzi(part.document, (group,)))
        version = str(part.get("apiVersion").value or "")
    if version.startswith(GROUP) or (forced is FileFormat.GITOPS_CONNECT and kind in KINDS):
        findings.documents.append(part.document)
    elif kind == "KafkaConnector" and (version.startswith(JIKKOU) or forced is FileFormat.JIKKOU):
        jikkou.read(part, findings)
    elif version.startswith(f"{strimzi.GROUP}/") or (forced is FileFormat.STRIMZI and kind in strimzi.KINDS):
        return _read_strimzi(part.document, findings, is_forced=forced is FileFormat.STRIMZI)
    elif kind in _LOOK_ALIKES:
        summary = f"{kind} of {version or 'no apiVersion'!r} is in none of the formats"
        hint = "if it is compatible with one of them, name that format with --from"
        findings.error("convert/unsupported", summary, part.location, hint)
    else:
        return False
    return True


def _read_strimzi(resource: Document, findings: Findings, *, is_forced: bool) -> bool:
    """Keep a resource of Strimzi that declares connectors. Returns whether it does."""
    membership = recognition.classify_resource(resource)
    if membership is recognition.Membership.MISTAKEN and not is_forced:
        mistake = recognition.resource_mistake(resource)
        findings.error(mistake.rule, mistake.summary, mistake.location, mistake.hint)
        return True
    if resource.value.get("kind") not in strimzi.KINDS:
        return False
    findings.resources.append(resource)
    return True
