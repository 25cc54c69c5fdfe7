"""Terraform in JSON: files `.tf.json`, the output of `terraform show -json`, and state files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gitops_connect.desired.foreign.findings import Findings
from gitops_connect.desired.foreign.hcl.expressions import (
    Literal,
    Null,
    Object,
    Unknown,
    Value,
    from_template,
    number_text,
)
from gitops_connect.desired.foreign.part import Part
from gitops_connect.desired.foreign.terraform import OTHER_TYPES, TYPE, Resource, declare, unsupported
from gitops_connect.model.diagnostics import Location

_ROOTS = ("values", "planned_values")
_COMMENT = "//"
_FromString = Callable[[str, int], Literal | Unknown]


def read(part: Part, findings: Findings) -> bool:
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
            _declare(resource.get("type").text, resource.get("name").text, instance.get("attributes"), findings)
    return True


def _read_files(part: Part, findings: Findings) -> None:
    """`{"resource": {TYPE: {LABEL: {…}}}}` of a file. A list of such mappings is allowed at each level."""
    for kinds in _each(part):
        for kind, labels in kinds.fields():
            for label_map in _each(labels):
                for label, bodies in label_map.fields():
                    for body in _each(bodies):
                        _declare(kind, label, body, findings, from_template)


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
            _declare(resource.get("type").text, resource.get("name").text, resource.get("values"), findings)


def _declare(
    kind: str | None, label: str | None, body: Part, findings: Findings, from_string: _FromString = Literal
) -> None:
    if kind in OTHER_TYPES:
        unsupported(kind, body.location, findings)
    if kind != TYPE:
        return
    parts: list[Part] = [body]

    def value(part: Part) -> Value:
        parts.append(part)
        return _value(part, len(parts) - 1, value, from_string)

    def locate(at: int) -> Location:
        return parts[at].location

    attributes = {key: value(one) for key, one in body.fields() if key != _COMMENT}
    known = {key: one for key, one in attributes.items() if not (isinstance(one, Null) and from_string is Literal)}
    declare(Resource(label or "", known, (), 0, locate), findings)


def _value(part: Part, at: int, nested: Callable[[Part], Value], from_string: _FromString) -> Value:
    if part.value is None:
        return Null(at)
    if isinstance(part.value, str):
        return from_string(part.value, at)
    if isinstance(part.value, Mapping):
        return Object(tuple(_items(part, nested, from_string)), at)
    if isinstance(part.value, bool):
        return Literal(str(part.text), at)
    if isinstance(part.value, int | float):
        return Literal(number_text(str(part.text)), at)
    return Unknown("a list", at)


def _items(
    part: Part, nested: Callable[[Part], Value], from_string: _FromString
) -> Iterator[tuple[Literal | Unknown, Value]]:
    for key, one in part.fields():
        value = nested(one)
        yield from_string(key, value.at), value
