"""Recognizes documents of gitops-connect, resources of Strimzi, and templates of them: all others are ignored.

A typo in `apiVersion` or `kind` does not make a document vanish.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Any

from gitops_connect.documents.fields import items_of
from gitops_connect.documents.nodes import MappingNode, Node, ScalarNode
from gitops_connect.model import strimzi
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import KINDS, Document, Pointer
from gitops_connect.model.findings import word_or_kind
from gitops_connect.model.suggestions import closest, did_you_mean

API_VERSION = "gitops-connect/v1"
GROUP = "gitops-connect/"
JIKKOU = "kafka.jikkou.io/"
"""The API group of Jikkou, which has a `KafkaConnector` too, and reads its files without Kubernetes."""
CONFLUENT = "platform.confluent.io/"
"""The API group of Confluent for Kubernetes, which has a `Connector`."""
SUFFIXES = (".yaml", ".yml", ".json")

_OURS = re.compile(rb"^[^#\n]*\bgitops-connect/v\d", re.MULTILINE)
_KIND = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?(?:Connector|OffsetChange)\b")

CONFIG_MAP = "ConfigMap"
_LISTS = ("List", *(f"{kind}List" for kind in strimzi.KINDS))
"""The kinds that `kubectl get -o yaml` writes."""
STRIMZI_VERSIONS = tuple(f"{strimzi.GROUP}/{version}" for version in ("v1", "v1beta2", "v1alpha1"))

_OTHER_KINDS = (
    *("Kafka", "KafkaBridge", "KafkaConnect", "KafkaConnectS2I", "KafkaMirrorMaker"),
    *("KafkaNodePool", "KafkaRebalance", "KafkaTopic", "KafkaUser"),
)
_PREFIX = "strimzi.io/"
"""Of the labels and annotations that mean something to Strimzi."""
_STRIMZI_KIND = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?(KafkaConnector|KafkaMirrorMaker2)\b")
_CONFIG_MAP = re.compile(rb"(?<![\w.-])[\"']?kind[\"']?\s*:\s*[\"']?ConfigMap\b")
_ACTION = re.compile(rb"^[^#\n]*\{\{.*\}\}", re.MULTILINE)
"""An action of a Helm template, or a parameter `${{NAME}}` of an OpenShift template."""


class Membership(Enum):
    """What a document is, for gitops-connect or for Strimzi."""

    MEMBER = "member"
    CONFIG_MAP = "ConfigMap"
    MISTAKEN = "mistaken"
    """Meant to be a document of gitops-connect or a resource of Strimzi, but with a wrong kind or `apiVersion`."""
    FOREIGN = "foreign"


def is_visible(path: str) -> bool:
    """True for YAML and JSON files, unless they are hidden."""
    return path.endswith(SUFFIXES) and not is_hidden(path)


def is_hidden(path: str) -> bool:
    """Whether the name of the file, or of a directory above it, begins with a dot."""
    return any(part.startswith(".") for part in path.split("/"))


def says_ours(content: bytes) -> bool:
    """True if a line names the API version of gitops-connect: all errors of such a file are reported."""
    return _OURS.search(_narrow(content)) is not None


def _narrow(content: bytes) -> bytes:
    """UTF-16 and UTF-32 without their zero bytes, so that a file in the wrong encoding is reported and not ignored."""
    return content.replace(b"\0", b"") if b"\0" in content else content


def classify(document: Document, *, among_ours: bool) -> Membership:
    """What a document is, by `apiVersion` and `kind`; `among_ours` if its file contains gitops-connect documents."""
    version = document.value.get("apiVersion")
    if isinstance(version, str) and version.startswith(GROUP):
        return Membership.MEMBER
    if isinstance(version, str) and _is_foreign(version):
        return Membership.FOREIGN
    kind = document.value.get("kind")
    # the values of a list of offsets may contain the API version
    is_manifest = document.value.keys() == {"offsets"}
    meant = (isinstance(kind, str) and kind in KINDS) or (among_ours and version is None and not is_manifest)
    return Membership.MISTAKEN if meant else Membership.FOREIGN


def _is_foreign(version: str) -> bool:
    """True for API groups of others, which are domains: `platform.confluent.io/v1beta1` has a Connector too."""
    return "." in version.partition("/")[0] and closest(version, [API_VERSION]) is None


def mistake(document: Document) -> Diagnostic:
    version = document.value.get("apiVersion")
    misspelt = closest("apiVersion", document.value)
    missing = "apiVersion is missing" + (f" (found {misspelt!r} instead)" if misspelt is not None else "")
    found = f"apiVersion is {word_or_kind(version)}" if version is not None else missing
    hint = f"write `apiVersion: {API_VERSION}`, or move the file away from the documents"
    return document.error("document/api-version", f"{found}, expected {API_VERSION!r}", ("apiVersion",), hint)


def look_alike(document: Document) -> Diagnostic | None:
    """The warning for another project's kind of that name, which is ignored; None for everything else."""
    kind, version = document.value.get("kind"), document.value.get("apiVersion")
    if kind not in (*KINDS, *strimzi.KINDS) or not isinstance(version, str) or not _is_foreign(version):
        return None
    if kind in strimzi.KINDS and closest(version.partition("/")[0], [strimzi.GROUP]) is not None:
        return None
    summary = f"a {kind} of {version} is not a gitops-connect document, and is ignored"
    hint = "`gitops-connect convert` reads it" if version.startswith((JIKKOU, CONFLUENT)) else ""
    if kind in strimzi.KINDS and not hint:
        hint = "if it has the fields of Strimzi's resources, name its API group in [strimzi] api_groups of the settings"
    return Diagnostic(Severity.WARNING, "document/foreign", summary, document.locate(("apiVersion",)), hint)


# Resources of Strimzi, ConfigMaps, and templates that become such resources.


@cache
def _group_pattern(groups: tuple[str, ...]) -> re.Pattern[bytes]:
    """Matches a line that names Strimzi's API group, or one of the others."""
    names = b"|".join(re.escape(one).encode() for one in (strimzi.GROUP, *groups))
    return re.compile(rb"^[^#\n]*\b(?:%b)/" % names, re.MULTILINE)


def says_strimzi(content: bytes, groups: Collection[str] = ()) -> bool:
    """True if a file names Strimzi's API group and a kind that declares connectors: all of its errors are reported.

    Here and below, resources of the API groups `groups` count as Strimzi's.
    """
    content = _narrow(content)
    return _group_pattern(tuple(groups)).search(content) is not None and _STRIMZI_KIND.search(content) is not None


def may_declare(content: bytes, groups: Collection[str] = ()) -> bool:
    """True if the file must be parsed: it names the API version or a kind of gitops-connect or of Strimzi."""
    content = _narrow(content)
    return any(one.search(content) for one in (_OURS, _KIND, _STRIMZI_KIND, _group_pattern(tuple(groups))))


def as_strimzi(document: Document, groups: Collection[str]) -> Document:
    """A resource of one of the API groups as a resource of Strimzi, with its labels and annotations."""
    group, slash, version = str(document.value.get("apiVersion")).partition("/")
    if group not in groups or not slash:
        return document
    prefix, metadata = f"{group}/", document.section("metadata")

    def named(key: str) -> str:
        return f"{_PREFIX}{key.removeprefix(prefix)}" if key.startswith(prefix) else key

    def placed(pointer: Pointer) -> Pointer:
        match pointer:
            case ("metadata", "labels" | "annotations" as section, str() as key, *rest):
                return ("metadata", section, named(key), *rest)
            case _:
                return pointer

    texts = {one: metadata[one] for one in ("labels", "annotations") if isinstance(metadata.get(one), Mapping)}
    renamed = {one: {named(key): text for key, text in found.items()} for one, found in texts.items()}
    value = {**document.value, "apiVersion": f"{strimzi.GROUP}/{version}"}
    return replace(
        document,
        value={**value, "metadata": {**metadata, **renamed}} if renamed else value,
        positions={placed(pointer): place for pointer, place in document.positions.items()},
        texts={placed(pointer): text for pointer, text in document.texts.items()},
    )


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
        if isinstance(key, ScalarNode) and isinstance(value, ScalarNode) and key.text in ("apiVersion", "kind")
    }
    version = fields.get("apiVersion", "")
    is_kind = fields.get("kind") in (*strimzi.KINDS, *_LISTS, CONFIG_MAP) and not version.startswith(JIKKOU)
    return version.startswith(strimzi.GROUP) or is_kind


def unpacked(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, with the items of each list as documents of their own, as `kubectl apply` reads them."""
    for document in documents:
        items = document.value.get("items")
        if document.value.get("kind") in _LISTS and isinstance(items, list):
            yield from (one for one in items_of(document, items, ("items",)) if isinstance(one.value, Mapping))
        else:
            yield document


def classify_resource(document: Document) -> Membership:
    version, kind = document.value.get("apiVersion"), document.value.get("kind")
    if kind == CONFIG_MAP and version == "v1":
        return Membership.CONFIG_MAP
    if not isinstance(kind, str) or not (version is None or isinstance(version, str)):
        return Membership.FOREIGN
    group = (version or "").partition("/")[0]
    if group == strimzi.GROUP:
        return _of_group(kind, version)
    meant = kind in strimzi.KINDS and (version is None or closest(group, [strimzi.GROUP]) is not None)
    return Membership.MISTAKEN if meant else Membership.FOREIGN


def _of_group(kind: str, version: str | None) -> Membership:
    if kind in strimzi.KINDS:
        return Membership.MEMBER if version in STRIMZI_VERSIONS else Membership.MISTAKEN
    is_misspelt = kind not in _OTHER_KINDS and closest(kind, (*strimzi.KINDS, *_OTHER_KINDS)) in strimzi.KINDS
    return Membership.MISTAKEN if is_misspelt else Membership.FOREIGN


def resource_mistake(document: Document) -> Diagnostic:
    version, kind = document.value.get("apiVersion"), str(document.value.get("kind"))
    if kind not in strimzi.KINDS:
        summary = f"unknown kind {kind!r} of {version}{did_you_mean(kind, strimzi.KINDS)}"
        hint = f"use one of these kinds: {', '.join(strimzi.KINDS)}"
        return document.error("strimzi/kind", summary, ("kind",), hint)
    found = f"apiVersion is {word_or_kind(version)}" if version is not None else "apiVersion is missing"
    summary = f"{found}, expected one of {', '.join(STRIMZI_VERSIONS)} for a {kind}"
    hint = f"write `apiVersion: {STRIMZI_VERSIONS[0]}`, or the version that your cluster has"
    return document.error("strimzi/api-version", summary, ("apiVersion",), hint)


def has_actions(content: bytes) -> bool:
    """Whether a file contains actions or parameters of a template."""
    return _ACTION.search(content) is not None


def template_file(path: str, content: bytes) -> Diagnostic:
    """The warning for a template that is not YAML before it is rendered."""
    found = next(_STRIMZI_KIND.finditer(content))
    line = content.count(b"\n", 0, found.start()) + 1
    kinds = sorted({kind.decode() for kind in _STRIMZI_KIND.findall(content)})
    return _template(Location(path, line), ", ".join(kinds))


def template_object(document: Document, groups: Collection[str] = ()) -> Diagnostic | None:
    """The warning for an OpenShift `Template` that contains a resource of Strimzi, or None for other documents."""
    if document.value.get("kind") != "Template":
        return None
    objects = document.value.get("objects")
    resources = [one for one in objects if isinstance(one, Mapping)] if isinstance(objects, list) else []
    known = (strimzi.GROUP, *groups)
    names = {str(one.get("kind")) for one in resources if str(one.get("apiVersion")).startswith(known)}
    kinds = sorted(names & set(strimzi.KINDS))
    return _template(document.locate(("objects",)), ", ".join(kinds)) if kinds else None


def _template(location: Location, kinds: str) -> Diagnostic:
    summary = f"a template of {kinds} is not read; no connector is pruned while its connectors are unknown"
    hint = "commit the rendered resources, or move the template out of [repository] path"
    return Diagnostic(Severity.WARNING, "strimzi/template", summary, location, hint)


def names_config_maps(resource: Document) -> bool:
    """Whether a resource names a ConfigMap, for reading or writing offsets."""
    return _has_key(resource.value.get("spec"), {"toConfigMap", "fromConfigMap"})


def _has_key(value: Any, keys: Collection[str]) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    is_key = isinstance(value, Mapping) and any(key in keys for key in value)
    return is_key or any(_has_key(one, keys) for one in inner)
