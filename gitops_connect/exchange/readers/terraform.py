"""Connectors as resources of Terraform, in HCL and in JSON.

JSON: files `.tf.json`, the output of `terraform show -json`, and state files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gitops_connect.documents.encoding import Refused, decode, place_after
from gitops_connect.documents.fields import NAME
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, reference_of
from gitops_connect.exchange.readers import confluent_cloud
from gitops_connect.exchange.readers.hcl import (
    Attribute,
    Literal,
    NotHcl,
    Null,
    Object,
    Unknown,
    Value,
    from_template,
    items,
    number_text,
)
from gitops_connect.exchange.readers.hcl_scope import Scope
from gitops_connect.exchange.readers.reading import Findings, LineStarts, Part
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName, ConnectorName

SHOW = "convert the output of `terraform show -json`, which has the values"
_REPEATED = ("count", "for_each", "dynamic")
_SENSITIVE = "config_sensitive"
_IGNORED = ("id", "status")
_MAX_SIZE = 1024 * 1024
"""Bytes. People write these files. The scanner looks at each character several times."""
_ROOTS = ("values", "planned_values")
_COMMENT_KEY = "//"
_PAUSED = "PAUSED"
_FromString = Callable[[str, int], Literal | Unknown]


@dataclass(frozen=True, slots=True)
class ResourceType:
    """The attributes with the name (empty: the config has it), the config, and the Connect cluster of a connector."""

    name: str
    maps: tuple[str, ...]
    cluster: str = ""
    is_managed: bool = False


_TYPES = {
    "kafka-connect_connector": ResourceType("name", ("config", _SENSITIVE)),
    "aiven_kafka_connector": ResourceType("connector_name", ("config",), "service_name"),
    "confluent_connector": ResourceType("", ("config_nonsensitive", _SENSITIVE), is_managed=True),
    "aws_mskconnect_connector": ResourceType("name", ("connector_configuration",)),
}
"""The resources of Mongey's provider, of Aiven, of Confluent Cloud, and of MSK Connect."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, from HCL or from JSON. `blocks` are the names of its blocks. `locate` finds an index."""

    type: ResourceType
    label: str
    attributes: Mapping[str, Value]
    blocks: tuple[str, ...]
    at: int
    locate: Callable[[int], Location]


def read(blob: Blob, findings: Findings) -> None:
    """Read every resource of an HCL file. Raises Refused."""
    if len(blob.content) > _MAX_SIZE:
        summary = f"the file is larger than {_MAX_SIZE // 1024**2} MiB; it is not read"
        raise Refused("document/too-large", summary, (1, 1), f"split it, or {SHOW}")
    text = decode(blob.content)
    try:
        _read_blocks(text, findings)
    except NotHcl as error:
        summary = f"this HCL cannot be read: {error.summary}"
        is_mentioned = any(kind.encode() in blob.content for kind in _TYPES)
        report = findings.error if is_mentioned else findings.note
        report("convert/syntax", summary, place_after(text[: error.at]), f"or {SHOW}")


def _read_blocks(text: str, findings: Findings) -> None:
    lines = LineStarts(text)

    def locate(at: int) -> Location:
        return Location(findings.path, *lines.place(at))

    blocks = list(items(text))
    scope = Scope(text, blocks)
    for block in blocks:
        if isinstance(block, Attribute) or block.type != "resource" or not block.labels:
            continue
        if kind := _TYPES.get(block.labels[0]):
            inner = tuple(items(text, block.start, block.end))
            attributes = {one.name: one.value for one in inner if isinstance(one, Attribute)}
            names = tuple(one.type for one in inner if not isinstance(one, Attribute))
            for values in scope.instances(attributes):
                declare(Resource(kind, block.labels[-1], values, names, block.at, locate), findings)
    if scope.used:
        findings.begin(None)
        summary = f"the file is read with the defaults of {', '.join(sorted(scope.used))}"
        findings.warning("convert/default", summary, (1, 1), f"if they are set elsewhere, {SHOW}")


def declare(resource: Resource, findings: Findings) -> None:
    name, where = _name_of(resource), resource.locate(resource.at)
    findings.begin(name.text if isinstance(name, Literal) else None)
    if not isinstance(name, Literal) or not name.text:
        found = f"is {reference_of(name.expression)}" if isinstance(name, Unknown) else "is missing"
        summary = f"the name of the connector of {resource.label!r} {found}"
        findings.error("convert/unknown-value", summary, where, f"write the name, or {SHOW}")
        return
    _warn_of_rest(resource, findings)
    cluster, status = resource.attributes.get(resource.type.cluster), resource.attributes.get("status")
    is_paused = resource.type.is_managed and isinstance(status, Literal) and status.text == _PAUSED
    draft = ConnectorDeclaration(
        ConnectorName(name.text),
        FileFormat.TERRAFORM,
        where,
        state=TargetState.PAUSED if is_paused else TargetState.RUNNING,
        cluster=ClusterName(cluster.text) if isinstance(cluster, Literal) and cluster.text else None,
    )
    for attribute in resource.type.maps:
        _add_map(draft, attribute, resource, findings)
    if resource.type.is_managed:
        confluent_cloud.translate(draft, findings)
    findings.declare(draft)


def _name_of(resource: Resource) -> Value | None:
    if resource.type.name:
        return resource.attributes.get(resource.type.name)
    maps = [one for key in resource.type.maps if isinstance(one := resource.attributes.get(key), Object)]
    names = [value for one in maps for key, value in one.items if isinstance(key, Literal) and key.text == NAME]
    return names[0] if names else None


def _warn_of_rest(resource: Resource, findings: Findings) -> None:
    where, kind, rest = resource.locate(resource.at), resource.type, []
    read = {*_IGNORED, kind.name, *kind.maps}
    read |= {kind.cluster} if isinstance(resource.attributes.get(kind.cluster), Literal) else set()
    for attribute in (*resource.attributes, *resource.blocks):
        if attribute in _REPEATED:
            summary = f"the resource {resource.label!r} has {attribute}: it declares any number of connectors"
            findings.error("convert/unknown-value", summary, where, SHOW)
        elif attribute not in read:
            rest.append(attribute)
    if rest:
        summary = f"{', '.join(map(repr, rest))} of the resource {resource.label!r}: no counterpart, left out"
        findings.warning("convert/unknown-field", summary, where)


def _add_map(draft: ConnectorDeclaration, attribute: str, resource: Resource, findings: Findings) -> None:
    value = resource.attributes.get(attribute)
    if value is None or isinstance(value, Null):
        return
    if not isinstance(value, Object):
        found = reference_of(value.expression) if isinstance(value, Unknown) else "a string"
        summary = f"{attribute} is {found}, expected a map with its keys"
        findings.error("convert/unknown-value", summary, resource.locate(value.at), f"write the map, or {SHOW}")
        return
    for key, item in value.items:
        where = resource.locate(key.at)
        if isinstance(key, Unknown):
            findings.error("convert/unknown-value", f"the config key is {reference_of(key.expression)}", where, SHOW)
            continue
        _add_value(draft, key.text, item, where, findings)
        if attribute == _SENSITIVE:
            draft.sensitive.add(key.text)


def _add_value(draft: ConnectorDeclaration, key: str, value: Value, where: Location, findings: Findings) -> None:
    draft.places[key] = where
    if isinstance(value, Literal):
        draft.config[key] = value.text
        draft.unknown.pop(key, None)
    elif isinstance(value, Unknown):
        draft.unknown[key] = value.expression
        draft.config.pop(key, None)
    elif isinstance(value, Null):
        findings.warning("convert/null", f"the value of {key!r} is null: the key is left out", where)
    else:
        findings.error("convert/value", f"the value of {key!r} is a map, expected a string", where)


def read_json(part: Part, findings: Findings) -> bool:
    """Read the part if it is one of the forms. Returns whether it is."""
    if not isinstance(part.value, Mapping):
        return False
    if isinstance(part.get("resource").value, Mapping | list):
        _read_files(part.get("resource"), findings)
    elif "terraform_version" not in part.value:
        return False
    for root in _ROOTS:
        _read_module(part.get(root, "root_module"), findings)
    for resource in part.get("resources").items():
        for instance in resource.get("instances").items():
            _declare_json(resource.get("type").text, resource.get("name").text, instance.get("attributes"), findings)
    return True


def _read_files(part: Part, findings: Findings) -> None:
    """`{"resource": {TYPE: {LABEL: {…}}}}` of a file. A list of such mappings is allowed at each level."""
    for kinds in _each(part):
        for kind, labels in kinds.fields():
            for label_map in _each(labels):
                for label, bodies in label_map.fields():
                    for body in _each(bodies):
                        _declare_json(kind, label, body, findings, from_template)


def _each(part: Part) -> Iterator[Part]:
    if isinstance(part.value, list):
        yield from part.items()
    elif isinstance(part.value, Mapping):
        yield part


def _read_module(module: Part, findings: Findings) -> None:
    modules = [module]
    while modules:
        one = modules.pop()
        modules += one.get("child_modules").items()
        for resource in one.get("resources").items():
            _declare_json(resource.get("type").text, resource.get("name").text, resource.get("values"), findings)


def _declare_json(
    kind: str | None, label: str | None, body: Part, findings: Findings, from_string: _FromString = Literal
) -> None:
    if kind not in _TYPES:
        return
    parts: list[Part] = [body]
    attributes = {key: _value_of(one, parts, from_string) for key, one in body.fields() if key != _COMMENT_KEY}
    known = {key: one for key, one in attributes.items() if not (isinstance(one, Null) and from_string is Literal)}
    declare(Resource(_TYPES[kind], label or "", known, (), 0, lambda at: parts[at].location), findings)


def _value_of(part: Part, parts: list[Part], from_string: _FromString) -> Value:
    """The value of a part, which is added to the parts: its index is the place of the value."""
    at = len(parts)
    parts.append(part)
    match part.value:
        case None:
            return Null(at)
        case str() as text:
            return from_string(text, at)
        case bool():
            return Literal(str(part.text), at)
        case int() | float():
            return Literal(number_text(str(part.text)), at)
        case Mapping():
            values = [(key, _value_of(one, parts, from_string)) for key, one in part.fields()]
            return Object(tuple((from_string(key, one.at), one) for key, one in values), at)
        case _:
            return Unknown("a list", at)
