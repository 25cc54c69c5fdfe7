"""Explanations of the rules for files that `gitops-connect convert` reads and writes."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.diagnostics import Severity
from gitops_connect.report.rules.explanation import RuleExplanation

_FILES: Mapping[str, RuleExplanation] = {
    "convert/syntax": RuleExplanation(
        "A file with a connector is not valid in its format, or uses a syntax that `convert` does not read.",
        "Correct the file at the line of the message. For Terraform, you can convert `terraform show -json` instead.",
        "error: this HCL cannot be read: the string is not closed in its line",
        exception="note if the file contains no connector",
    ),
    "convert/template": RuleExplanation(
        "A file is a template, such as one of Helm, and is not valid before it is rendered.",
        "Render the template, and convert the result.",
        "error: the file is a template, which has to be rendered first: this quote is never closed",
    ),
    "convert/encoding": RuleExplanation(
        "A properties file is encoded in UTF-8. A standalone worker reads Latin-1, so the value on the worker is"
        " another one. `convert` writes the value of the worker.",
        "Correct the value in the new file if it is not the one that you want.",
        "warning: the value of 'topic' is read as Latin-1, as a worker does: 'Ã¤'. In UTF-8 it is 'ä'",
        Severity.WARNING,
    ),
    "convert/no-connector": RuleExplanation(
        "A file or a document declares no connector in any of the formats.",
        "Name only files that declare connectors. If the format was not recognized, name it with `--from`.",
        "error: the file declares no connector, in any of the formats",
        exception="note for a file in a directory",
    ),
    "convert/unsupported": RuleExplanation(
        "A resource declares a connector in a format that `convert` does not read.",
        "If the format is compatible with a known one, name that with `--from`. Otherwise import the connector from its"
        " cluster.",
        "error: resources confluent_connector are not supported, only kafka-connect_connector",
    ),
    "convert/offset-change": RuleExplanation(
        "An `OffsetChange` document is among the files. Only connectors are converted.",
        "Copy the document if you need it.",
        "warning: the offset change 'skip-1' is not converted: it is no connector",
        Severity.WARNING,
    ),
    "convert/same-connector": RuleExplanation(
        "The files declare the same connector of the same cluster more than once. None of them is converted.",
        "Remove all but one. If the connectors are on different clusters, convert the files of each cluster with its"
        " own `--cluster`.",
        "error: connector orders is declared more than once: also at old/orders.json:1:1",
    ),
}

_VALUES: Mapping[str, RuleExplanation] = {
    "convert/name": RuleExplanation(
        "The connector has no name or two names, or it gets a name that is not in the file as it is written.",
        "Add the name to the file, or correct it in the new file.",
        "error: the connector has no name",
        exception="warning if `convert` knows the name: that of the file, or in ksqlDB the name in capitals",
    ),
    "convert/class": RuleExplanation(
        "The class of the plugin is not in the file.",
        "Add `connector.class` to the config.",
        "error: the class of the connector 'orders' is unknown: its config has no connector.class",
    ),
    "convert/state": RuleExplanation(
        "An answer of Connect shows a connector that is FAILED or UNASSIGNED, which does not show its target state.",
        "Set `spec.state` in the new file if the connector must not run.",
        "warning: the connector was FAILED, which does not show its target state: `running` is assumed",
        Severity.WARNING,
    ),
    "convert/value": RuleExplanation(
        "A value is not one that a connector can have, such as a list in the config or an unknown state.",
        "Correct the value.",
        "error: the value of 'topics' is a list, expected a string: Connect stores strings only",
    ),
    "convert/null": RuleExplanation(
        "A value is null. A config has strings only, so the key is left out.",
        "Set a value, or remove the key.",
        "warning: this config key has no value: it is left out",
        Severity.WARNING,
    ),
    "convert/number": RuleExplanation(
        "Jikkou reads a number and sends another text than the one in the file. `convert` writes the text of the file.",
        "Put the value in quotes, or correct it in the new file.",
        "warning: the value of 'ratio' is read as '1.10'; Jikkou reads it as a number, and sends 1.1",
        Severity.WARNING,
    ),
    "convert/duplicate-key": RuleExplanation(
        "A key repeats in a properties file. Java uses its last value.",
        "Keep only the correct value.",
        "warning: the key 'topic' repeats: Java uses the last value, which is this one",
        Severity.WARNING,
    ),
    "convert/unknown-value": RuleExplanation(
        "A value is an expression that only the other tool can evaluate, such as `var.topic`. A config value is then"
        " read from a variable, which the command lists.",
        "Set the variable, or write the value into the new file. Of Terraform, you can convert `terraform show -json`.",
        "warning: connector orders: the value of 'topic' is var.topic, which is unknown: it is read from ORDERS_TOPIC",
        Severity.WARNING,
        "error for the name, the class, the number of tasks and whole maps",
    ),
    "convert/unknown-field": RuleExplanation(
        "A field of the other tool has no counterpart, or is unknown. It is left out.",
        "Check whether you need what the field does.",
        "warning: Jikkou's KafkaConnector has no field 'owner': it is left out",
        Severity.WARNING,
        "note for `IF NOT EXISTS` of ksqlDB",
    ),
    "convert/placeholder": RuleExplanation(
        "A value has a placeholder of a config provider that only workers of Strimzi have.",
        "Map the placeholder in `[strimzi.placeholders]` of the settings, or configure the provider on your workers.",
        "warning: connector orders: the value of 'a' has a placeholder that only workers of Strimzi resolve",
        Severity.WARNING,
    ),
    "convert/secret": RuleExplanation(
        "No variable can replace a secret: it is in an annotation, an offset or the name of a config key. Or a"
        " value is cut off, so that its other lines are read as config keys. The connector is not converted.",
        "Remove the secret, or write the value in one line.",
        "error: connector orders: annotations.alerts contains a Slack webhook URL",
    ),
    "convert/path": RuleExplanation(
        "A path in a document is relative to its file, which is written to another directory.",
        "Copy the offset manifest, or correct the path in the new file.",
        "warning: the path './orders.jsonl' is relative to the file, which is written to another directory",
        Severity.WARNING,
    ),
    "convert/target": RuleExplanation(
        "The target format cannot express the connector, or one of its fields. A field is left out.",
        "Correct the connector, or choose another format with `--to`.",
        "warning: connector orders: JSON has no counterpart of rollback: it is left out",
        exception="warning for a field that is left out, and for a secret in a file of the worker",
    ),
}

CONVERT = {**_FILES, **_VALUES}
