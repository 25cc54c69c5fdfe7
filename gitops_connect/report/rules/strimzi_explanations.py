"""Explanations of the rules for resources of Strimzi."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.diagnostics import Severity
from gitops_connect.report.rules.explanation import RuleExplanation

STRIMZI: Mapping[str, RuleExplanation] = {
    "strimzi/kind": RuleExplanation(
        "A resource of the API group `kafka.strimzi.io` has a misspelt kind.",
        "Write `KafkaConnector` or `KafkaMirrorMaker2`.",
        "error: unknown kind 'KafkaConector' of kafka.strimzi.io/v1; did you mean 'KafkaConnector'?",
    ),
    "strimzi/api-version": RuleExplanation(
        "The `apiVersion` of a resource of Strimzi is missing, misspelt or unknown, or the version of the operator in"
        " the settings does not read it.",
        "Write `apiVersion: kafka.strimzi.io/v1`, or `v1beta2` or `v1alpha1` for an older resource.",
        "error: apiVersion is 'kafka.strimzi.io/v1beta3', expected one of kafka.strimzi.io/v1, …",
    ),
    "strimzi/template": RuleExplanation(
        "A file is a Helm template, or a `Template` of OpenShift, with resources of Strimzi. Their fields are unknown"
        " before the template is rendered. Until then, no connector is pruned.",
        "Commit the rendered resources, or move the template out of `[repository] path`.",
        "warning: a template of KafkaConnector is not read; no connector is pruned while its connectors are unknown",
        Severity.WARNING,
    ),
    "strimzi/no-cluster": RuleExplanation(
        "A `KafkaConnector` has no label `strimzi.io/cluster`. Strimzi ignores it, and so does gitops-connect.",
        "Set the label to the name of the Connect cluster, or remove the resource.",
        "note: the KafkaConnector has no label strimzi.io/cluster, and is ignored, as in Strimzi",
        Severity.NOTE,
    ),
    "strimzi/invalid-field": RuleExplanation(
        "A field of a resource has a value that Strimzi's custom resource definition or its operator rejects.",
        "Correct the field, as the message says.",
        "error: spec.tasksMax must be of type integer, found '2'",
    ),
    "strimzi/unknown-field": RuleExplanation(
        "The custom resource definition of Strimzi does not have this field. Kubernetes drops it, or a newer version of"
        " Strimzi has it.",
        "Correct the name of the field, or remove it.",
        "warning: spec.taskMax is ignored: the field is unknown (API version v1, Strimzi 1.2)",
        Severity.WARNING,
    ),
    "strimzi/ignored-field": RuleExplanation(
        "Strimzi's operator ignores this field, because of another field or because of its version.",
        "Remove the field.",
        "warning: spec.pause is ignored: spec.state is also set",
        Severity.WARNING,
    ),
    "strimzi/no-namespace": RuleExplanation(
        "A `KafkaMirrorMaker2` refers to a Secret and has no namespace. The namespace is a part of the placeholder.",
        "Set `metadata.namespace`.",
        "warning: metadata.namespace is missing: placeholders for Secrets use the namespace 'default'",
        Severity.WARNING,
    ),
    "strimzi/config-value": RuleExplanation(
        "A config value is empty, a list, a mapping, or an integer of more than 64 bits. Strimzi rejects it.",
        "Write a string, a number or a boolean.",
        "error: the config key 'topics' is a list, which Strimzi rejects",
    ),
    "strimzi/forbidden-key": RuleExplanation(
        "The config contains a key that Strimzi sets itself: `connector.class`, `tasks.max`, `name` or"
        " `connector.plugin.version`. The key is ignored, as in Strimzi.",
        "Remove the key from the config, and set the field of `spec` for it.",
        "warning: the config key 'tasks.max' is ignored, as in Strimzi",
        Severity.WARNING,
    ),
    "strimzi/placeholder": RuleExplanation(
        "A config value contains a placeholder of one of Strimzi's own config providers, such as `${strimzienv:…}`."
        " Only workers that Strimzi deploys have these providers.",
        "Map the placeholder in `[strimzi.placeholders]` of the settings, or set `[strimzi] workers` if Strimzi deploys"
        " the workers.",
        "error: password has the placeholder ${strimzienv:PASSWORD}, which only workers of Strimzi can resolve",
    ),
}
