"""Explanations of the rules for documents that do not fit their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.report.rules.explanation import RuleExplanation

SCHEMA: Mapping[str, RuleExplanation] = {
    "schema/kind": RuleExplanation(
        "The `kind` of a document is unknown to this version.",
        "Use one of the kinds that the message lists.",
        "error: unknown kind 'Conector'; did you mean 'Connector'?",
    ),
    "schema/unknown-field": RuleExplanation(
        "A document has a field that its schema does not have. The field would have no effect.",
        "Correct the name of the field, move the field to the right place, or remove it.",
        "error: unknown field 'clas' in spec; did you mean 'class'?",
    ),
    "schema/required": RuleExplanation(
        "A required field is missing.",
        "Add the field. The hint describes it.",
        "error: metadata.name is missing",
    ),
    "schema/type": RuleExplanation(
        "The value of a field has another type than the schema requires.",
        "Write a value of the type that the message names.",
        "error: spec.tasksMax is a string, expected a whole number",
    ),
    "schema/enum": RuleExplanation(
        "The value of a field is not one of the allowed values.",
        "Use one of the values that the message lists.",
        "error: spec.state is 'started', expected one of running, paused, stopped, absent",
    ),
    "schema/range": RuleExplanation(
        "A number is smaller or larger than allowed.",
        "Write a number within the limit that the message names.",
        "error: spec.tasksMax is 0, expected at least 1",
    ),
    "schema/string": RuleExplanation(
        "A string is empty, too long, or does not have the form that its field requires.",
        "Write a string of the form that the hint describes.",
        "error: metadata.name is not well-formed",
    ),
    "schema/key": RuleExplanation(
        "A key of a mapping, such as a config key, does not have the required form.",
        "Correct the key as the hint describes.",
        "error: a key is not valid",
    ),
    "schema/choice": RuleExplanation(
        "Of several fields that exclude each other, too many or too few are set.",
        "Set the number of fields that the message requires.",
        "error: spec must have exactly one of offsets, manifest, found none",
    ),
    "schema/empty": RuleExplanation(
        "A list has no items, but needs at least one.",
        "Add an item. To remove all offsets, use `operation: reset`.",
        "error: spec.offsets is empty",
    ),
    "schema/other": RuleExplanation(
        "A field violates its schema in a way for which no other rule exists.",
        "Compare the field with the reference of the document.",
        "error: spec.ignore does not satisfy 'uniqueItems' of the schema",
    ),
}
