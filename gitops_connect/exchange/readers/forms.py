"""Connectors in formats that differ in the names of their fields only (`forms.toml`), at any depth of a document.

So are Helm's values, Ansible's variables (`kafka_connect_connectors`) and wrapper keys (`connectors: […]`) read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from gitops_connect.documents.fields import CLASS, TASKS
from gitops_connect.documents.recognition import CONFLUENT
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, reference_of
from gitops_connect.exchange.readers import jikkou
from gitops_connect.exchange.readers.reading import (
    ExpressionOf,
    Findings,
    Part,
    add_config,
    leave_out,
    state_of,
    texts_of,
)
from gitops_connect.model.names import ClusterName
from gitops_connect.model.suggestions import did_you_mean

_CLASS_NAME = re.compile(r"[\w.$]*(?:Connector|Source|Sink)", re.ASCII)
_EXPRESSION = "{{"
_POLICIES = {"OnFailure": True, "Never": False}
_MOST_RESTARTS = 10_000
_FIELDS = {"class": CLASS, "tasks": TASKS}


@dataclass(frozen=True, slots=True)
class Form:
    """A format: `match` recognizes it, and `fields` has the paths of each field, and those that mean nothing here.

    `is_template`: values may be expressions of Jinja, of Helm, of an operator or of CloudFormation.
    """

    format: FileFormat
    what: str
    match: Mapping[str, re.Pattern[str]]
    fields: Mapping[str, tuple[tuple[str, ...], ...]]
    is_template: bool

    @staticmethod
    def of(row: Mapping[str, Any]) -> Form:
        match = {path: re.compile(pattern, re.ASCII) for path, pattern in row.get("match", {}).items()}
        paths = {field: one for field, one in row.items() if isinstance(one, list)}
        fields = {field: tuple(tuple(path.split(".")) for path in one) for field, one in paths.items()}
        return Form(FileFormat(row["format"]), row["what"], match, fields, row.get("template", False))

    def matches(self, part: Part) -> bool:
        values = {field: part.value.get(field) for field in self.match}
        return all(isinstance(text, str) and self.match[field].fullmatch(text) for field, text in values.items())

    def get(self, part: Part, field: str) -> Part:
        """The first field with a value, or a part with None."""
        found = [part.get(*path) for path in self.fields.get(field, ())]
        return next((one for one in found if one.value is not None), Part(part.document, None, part.pointer))


_TABLE = tomllib.loads(files("gitops_connect.exchange.readers").joinpath("forms.toml").read_text("utf-8"))
_JIKKOU, *_FORMS, _ENTRY = map(Form.of, _TABLE["form"])
_MARKS = {CLASS, *(path[0] for path in _ENTRY.fields["config"]), *(field for one in _FORMS for field in one.match)}
"""Every connector has one of these fields: other mappings are passed by fast."""


def read(part: Part, findings: Findings) -> bool:
    """Read the part if it is in one of the formats with a mark of their own. Returns whether it is."""
    form = next((one for one in _FORMS if one.matches(part)), None)
    if form is not None:
        _read(form, part, "", findings)
    return form is not None


def read_jikkou(part: Part, findings: Findings) -> None:
    """Read a `KafkaConnector` of Jikkou."""
    _read(_JIKKOU, part, "", findings)


def read_nested(part: Part, findings: Findings) -> bool:
    """Read every connector below the part. Returns whether there is one."""
    found, rest = False, [("", part)]
    while rest:
        key, one = rest.pop()
        if not isinstance(one.value, Mapping):
            rest += reversed([("", item) for item in one.items()])
        elif _MARKS.isdisjoint(one.value):
            rest += reversed([*one.fields()])
        elif read(one, findings):
            found = True
        elif _is_entry(one):
            found = True
            _read(_ENTRY, one, key, findings)
        else:
            rest += reversed([*one.fields()])
    return found


def _is_entry(part: Part) -> bool:
    """Whether this is a connector with its class: in its config, next to the config, or a config without a wrapper."""
    config = _ENTRY.get(part, "config").value
    if not isinstance(config, Mapping):
        return isinstance(part.value.get(CLASS), str)
    name = _ENTRY.get(part, "class").value
    return CLASS in config or (isinstance(name, str) and _CLASS_NAME.fullmatch(name) is not None)


def _read(form: Form, part: Part, key: str, findings: Findings) -> None:
    config = form.get(part, "config")
    is_flat = form is _ENTRY and not isinstance(config.value, Mapping)
    own_name = form.get(part, "name").text
    name = own_name or (key if form is _ENTRY else "")
    is_unknown = form.is_template and _EXPRESSION in name
    unnamed = f"its name is {reference_of(name)}" if is_unknown else "the connector has no name"
    draft = findings.draft("" if is_unknown else name, form.format, part.location, unnamed)
    if draft is None:
        return
    if not own_name and "connector" not in str(part.pointer[-2:-1]).lower():
        summary = f"the connector has no name: it is called {name!r}, as its key is"
        findings.warning("convert/name", summary, part.location, "add a field `name` if this is not its name")
    if not is_flat:
        _warn_of_rest(form, part, findings)
    expression_of = _expression if form.is_template else None
    add_config(draft, part if is_flat else config, findings, expression_of)
    for field in _FIELDS if not is_flat else ():
        _add_field(draft, field, form.get(part, field), expression_of, findings)
    _add_restarts(draft, form.get(part, "restart"), findings)
    _add_texts(draft, form.get(part, "labels"), form.get(part, "annotations"), findings)
    cluster, state = form.get(part, "cluster").text, state_of(form.get(part, "state"), findings)
    draft = replace(draft, cluster=ClusterName(cluster) if cluster else None, state=state)
    findings.declare(jikkou.complete(draft, part, findings) if form is _JIKKOU else draft)


def _expression(value: object) -> str | None:
    """An expression of Jinja, of Helm or of CloudFormation (`{"Ref": …}`, `{"Fn::Sub": …}`), or None."""
    if isinstance(value, str):
        return value if _EXPRESSION in value else None
    function = next(iter(value)) if isinstance(value, Mapping) and len(value) == 1 else ""
    return "{}" if function == "Ref" or function.startswith("Fn::") else None


def _warn_of_rest(form: Form, part: Part, findings: Findings) -> None:
    """One warning for each field that no path of the form leads to."""
    known = {path for paths in form.fields.values() for path in paths}
    above = {path[:length] for path in known for length in range(len(path))}
    rest: list[tuple[tuple[str, ...], Part]] = [((), part)]
    while rest:
        path, one = rest.pop()
        for key, value in one.fields():
            here = (*path, key)
            if here in known:
                continue
            if here in above and isinstance(value.value, Mapping):
                rest.append((here, value))
            else:
                others = [] if here in above else [one[len(path)] for one in known if one[: len(path)] == path]
                similar = did_you_mean(key, others)
                summary = f"{'.'.join(here)!r} of {form.what} has no counterpart: it is left out{similar}"
                findings.warning("convert/unknown-field", summary, value.location)


def _add_field(
    draft: ConnectorDeclaration, field: str, value: Part, expression_of: ExpressionOf, findings: Findings
) -> None:
    key, text = _FIELDS[field], value.text
    if text is None:
        return
    draft.places[key] = value.location
    if expression_of and (expression := expression_of(text)):
        draft.unknown[key] = expression
        draft.config.pop(key, None)
        return
    if draft.config.get(key, text) != text:
        summary = f"{value.pointer[-1]} is {text!r}, but the config's {key} is {draft.config[key]!r}"
        findings.error("convert/value", summary, value.location, "keep one of them only")
    draft.config[key] = text
    draft.unknown.pop(key, None)


def _add_restarts(draft: ConnectorDeclaration, policy: Part, findings: Findings) -> None:
    """Confluent's policy as `autoRestart`. Without one, both restart failed tasks."""
    if policy.value is None:
        return
    enabled, most = _POLICIES.get(policy.get("type").text or "OnFailure"), policy.get("maxRetry").value
    is_number = isinstance(most, int) and not isinstance(most, bool) and 0 <= most <= _MOST_RESTARTS
    if enabled is None or not (most is None or is_number):
        summary = f"{policy.pointer[-1]} is no policy with a type OnFailure or Never: it is left out"
        findings.warning("convert/unknown-field", summary, policy.location)
        return
    draft.fields["autoRestart"] = {"enabled": enabled, **({"maxRestarts": most} if enabled and is_number else {})}
    draft.places["autoRestart"] = policy.location


def _add_texts(draft: ConnectorDeclaration, labels: Part, annotations: Part, findings: Findings) -> None:
    """Labels and annotations of the user: no copy of the resource, with its secrets, and none of the operator's."""
    draft.labels.update(texts_of(labels, findings))
    kept = texts_of(annotations, findings).items()
    draft.annotations.update({key: text for key, text in kept if not key.startswith("kubectl.kubernetes.io/")})
    leave_out(draft.annotations, CONFLUENT, "Confluent's operator", annotations, findings)
    for name, one in (("labels", labels), ("annotations", annotations)):
        draft.places.setdefault(name, one.location)
