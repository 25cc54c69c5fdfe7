"""Every rule by its id, in one sentence: what a code-scanning view shows beside a diagnostic."""

from __future__ import annotations

_EXPLANATIONS = {
    "yaml/syntax": "The text cannot be read as YAML.",
    "yaml/encoding": "Documents are UTF-8.",
    "yaml/character": "Control characters are not allowed in YAML.",
    "yaml/duplicate-key": "A key stands once in a mapping; which of two is meant cannot be known.",
    "yaml/key": "Keys are texts.",
    "yaml/alias": "An alias names an anchor that stands before it, and not around it.",
    "yaml/merge": "A merge key takes a mapping, or a list of mappings.",
    "yaml/tag": "Documents hold plain values, and no tagged ones.",
    "yaml/number": "Numbers are finite, and not endless.",
    "yaml/depth": "Documents are nested a few levels deep, and not dozens.",
    "yaml/nodes": "Documents are small, and so is what their aliases stand for.",
    "yaml/root": "A document is a mapping that begins with apiVersion.",
    "document/api-version": "A document says which version of the format it is written in.",
    "document/foreign": "A document of the same kind from another API group is left alone.",
    "document/too-large": "A document has at most 10 MiB.",
    "schema/kind": "The kind of a document is one that this version knows.",
    "schema/unknown-field": "Fields are those of the schema; one that is not known would have no effect.",
    "schema/required": "The schema requires this field.",
    "schema/type": "A field holds a value of its type.",
    "schema/enum": "A field holds one of the values that the schema lists.",
    "schema/range": "A number lies within its bounds.",
    "schema/text": "A text has the form that its field requires.",
    "schema/key": "A key has the form that the schema requires.",
    "schema/choice": "Exactly one of several fields is set.",
    "schema/other": "A field satisfies its schema.",
    "connector/no-cluster": "It is said for which Connect cluster a connector is.",
    "connector/unknown-cluster": "The cluster of a connector is one of the operator's settings.",
    "connector/cluster-conflict": "The folder of a document and its metadata.cluster name the same cluster.",
    "connector/two-owners": "One document owns a connector.",
    "connector/name-conflict": "A name in the config is the connector's own.",
    "connector/no-class": "A connector says which plugin it is.",
    "connector/class-conflict": "spec.class and the config's connector.class are the same.",
    "connector/tasks-conflict": "spec.tasksMax and the config's tasks.max are the same.",
    "connector/secret-conflict": "A key stands in spec.config or in spec.secrets, and not in both.",
    "connector/secret-reserved": "The name, the class and the number of tasks are no secrets.",
    "connector/clear-secret": "A value that looks like a secret stands in clear text in git.",
    "secret/missing": "The operator's settings allow a secret that a document names, and it is there.",
    "connect/unusable-name": "Connect bears the name of the connector.",
    "connect/invalid-config": "The plugin accepts the config.",
    "connect/unknown-plugin": "The workers have the plugin that a connector names.",
    "connect/not-validated": "The workers could be asked about the config.",
}


def rule_ids() -> tuple[str, ...]:
    """The rules that are explained here, sorted."""
    return tuple(sorted(_EXPLANATIONS))


def explanation(rule: str) -> str:
    """The sentence for a rule. Rules that come from Connect itself are not listed: their message says it all."""
    return _EXPLANATIONS.get(rule, f"A problem of the kind {rule}.")
