"""Recognizes resources of Strimzi, ConfigMaps, and templates that become such resources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from gitops_connect.desired.list_items import items_of
from gitops_connect.desired.nodes import Mapping as MappingNode
from gitops_connect.desired.nodes import Node, Scalar
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import Document
from gitops_connect.model.found_values import word_or_kind
from gitops_connect.model.strimzi import GROUP, KINDS
from gitops_connect.model.suggestions import closest, did_you_mean

CONFIG_MAP = "ConfigMap"
_LISTS = ("List", *(f"{kind}List" for kind in KINDS))
"""The kinds that `kubectl get -o yaml` writes."""
API_VERSIONS = tuple(f"{GROUP}/{version}" for version in ("v1", "v1beta2", "v1alpha1"))

_JIKKOU = "kafka.jikkou.io/"
"""The API group of Jikkou, which has a `KafkaConnector` too, and reads its files without Kubernetes."""
_OTHER_KINDS = (
    "Kafka",
    "KafkaBridge",
    "KafkaConnect",
    "KafkaConnectS2I",
    "KafkaMirrorMaker",
    "KafkaNodePool",
    "KafkaRebalance",
    "KafkaTopic",
    "KafkaUser",
)
_GROUP = re.compile(rb"^[^#\n]*\bkafka\.strimzi\.io/", re.MULTILINE)
_KIND = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?(KafkaConnector|KafkaMirrorMaker2)\b")
_CONFIG_MAP = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?ConfigMap\b")
_ACTION = re.compile(rb"^[^#\n]*\{\{.*\}\}", re.MULTILINE)
"""An action of a Helm template, or a parameter `${{NAME}}` of an OpenShift template."""


class Membership(Enum):
    """What a document is for Strimzi."""

    RESOURCE = "resource"
    CONFIG_MAP = "ConfigMap"
    MISTAKEN = "mistaken"
    """Meant to be a resource of Strimzi, but with a wrong kind or `apiVersion`."""
    OTHER = "other"


def says_strimzi(content: bytes) -> bool:
    """True if a file names Strimzi's API group and a kind that declares connectors: all of its errors are reported."""
    content = _narrow(content)
    return _GROUP.search(content) is not None and _KIND.search(content) is not None


def may_be_strimzi(content: bytes) -> bool:
    """True if the file must be parsed, because it names Strimzi's API group or a kind that declares connectors."""
    content = _narrow(content)
    return _GROUP.search(content) is not None or _KIND.search(content) is not None


def _narrow(content: bytes) -> bytes:
    """UTF-16 without its zero bytes, so that a file in the wrong encoding is reported and not ignored."""
    return content.replace(b"\0", b"") if b"\0" in content else content


def may_be_config_map(content: bytes) -> bool:
    """True if the file contains a ConfigMap. It is parsed only if a resource of Strimzi names a ConfigMap."""
    return _CONFIG_MAP.search(content) is not None


def is_kubernetes(root: Node) -> bool:
    """Whether a document is read as `kubectl` reads it: a resource of Strimzi, a ConfigMap, or a list of resources."""
    if not isinstance(root, MappingNode):
        return False
    fields = {
        key.text: value.text
        for key, value in root.pairs
        if isinstance(key, Scalar) and isinstance(value, Scalar) and key.text in ("apiVersion", "kind")
    }
    version = fields.get("apiVersion", "")
    is_kind = fields.get("kind") in (*KINDS, *_LISTS, CONFIG_MAP) and not version.startswith(_JIKKOU)
    return version.startswith(GROUP) or is_kind


def unpacked(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, with the items of each list as documents of their own, as `kubectl apply` reads them."""
    for document in documents:
        items = document.value.get("items")
        if document.value.get("kind") in _LISTS and isinstance(items, list):
            yield from (one for one in items_of(document, items, ("items",)) if isinstance(one.value, Mapping))
        else:
            yield document


def classify(document: Document) -> Membership:
    """What a document is, by its `apiVersion` and `kind`."""
    version, kind = document.value.get("apiVersion"), document.value.get("kind")
    if kind == CONFIG_MAP and version == "v1":
        return Membership.CONFIG_MAP
    if not isinstance(kind, str) or not (version is None or isinstance(version, str)):
        return Membership.OTHER
    group = (version or "").partition("/")[0]
    if group == GROUP:
        return _of_group(kind, version)
    meant = kind in KINDS and (version is None or closest(group, [GROUP]) is not None)
    return Membership.MISTAKEN if meant else Membership.OTHER


def _of_group(kind: str, version: str | None) -> Membership:
    if kind in KINDS:
        return Membership.RESOURCE if version in API_VERSIONS else Membership.MISTAKEN
    is_misspelt = kind not in _OTHER_KINDS and closest(kind, (*KINDS, *_OTHER_KINDS)) in KINDS
    return Membership.MISTAKEN if is_misspelt else Membership.OTHER


def mistake(document: Document) -> Diagnostic:
    """The error for a document that is meant to be a resource of Strimzi."""
    version, kind = document.value.get("apiVersion"), str(document.value.get("kind"))
    if kind not in KINDS:
        summary = f"unknown kind {kind!r} of {version}{did_you_mean(kind, KINDS)}"
        hint = f"use one of these kinds: {', '.join(KINDS)}"
        return Diagnostic(Severity.ERROR, "strimzi/kind", summary, document.locate(("kind",)), hint, document.connector)
    found = f"apiVersion is {word_or_kind(version)}" if version is not None else "apiVersion is missing"
    summary = f"{found}, expected one of {', '.join(API_VERSIONS)} for a {kind}"
    place = document.locate(("apiVersion",))
    hint = f"write `apiVersion: {API_VERSIONS[0]}`, or the version that your cluster has"
    return Diagnostic(Severity.ERROR, "strimzi/api-version", summary, place, hint, document.connector)


def is_template(content: bytes) -> bool:
    """Whether a file that is not a valid resource contains actions or parameters of a template."""
    return _ACTION.search(content) is not None


def template_file(path: str, content: bytes) -> Diagnostic:
    """The warning for a template that is not YAML before it is rendered."""
    found = next(_KIND.finditer(content))
    line = content.count(b"\n", 0, found.start()) + 1
    kinds = sorted({kind.decode() for kind in _KIND.findall(content)})
    return _template(Location(path, line), ", ".join(kinds))


def template_object(document: Document) -> Diagnostic | None:
    """The warning for an OpenShift `Template` that contains a resource of Strimzi, or None for other documents."""
    if document.value.get("kind") != "Template":
        return None
    kinds = sorted({kind for kind in _objects(document.value.get("objects")) if kind in KINDS})
    return _template(document.locate(("objects",)), ", ".join(kinds)) if kinds else None


def has_actions(document: Document) -> bool:
    """Whether the name of a resource contains an action of a template, so that only a rendered one has a name."""
    metadata = document.value.get("metadata")
    return isinstance(metadata, Mapping) and "{" in str(metadata.get("name"))


def _objects(objects: Any) -> Iterator[str]:
    for one in objects if isinstance(objects, list) else ():
        if isinstance(one, Mapping) and str(one.get("apiVersion")).startswith(GROUP):
            yield str(one.get("kind"))


def _template(location: Location, kinds: str) -> Diagnostic:
    summary = f"a template of {kinds} is not read; no connector is pruned while its connectors are unknown"
    hint = "commit the rendered resources, or move the template out of [repository] path"
    return Diagnostic(Severity.WARNING, "strimzi/template", summary, location, hint)


def names_config_maps(document: Document) -> bool:
    """Whether a resource names a ConfigMap, for reading or writing offsets."""
    return any(_keys(document.value.get("spec")))


def _keys(value: Any) -> Iterator[bool]:
    if isinstance(value, Mapping):
        yield from (key in ("toConfigMap", "fromConfigMap") for key in value)
        for one in value.values():
            yield from _keys(one)
    elif isinstance(value, list):
        for one in value:
            yield from _keys(one)
