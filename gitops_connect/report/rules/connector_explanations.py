"""Explanations of the rules for connectors, for their secrets, and for what Connect reports about their configs."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.diagnostics import Severity
from gitops_connect.report.rules.explanation import RuleExplanation

_CONNECTOR: Mapping[str, RuleExplanation] = {
    "connector/no-cluster": RuleExplanation(
        "A document does not name its Connect cluster, and the settings contain several clusters.",
        "Set `metadata.cluster`, or move the file to `clusters/NAME/`.",
        "error: the document does not name its cluster",
    ),
    "connector/unknown-cluster": RuleExplanation(
        "A document names a cluster that is not in the administrator's settings.",
        "Use one of the clusters in the settings, or add the cluster to the settings.",
        "error: the settings have no cluster 'prod'",
    ),
    "connector/cluster-conflict": RuleExplanation(
        "`metadata.cluster` and the directory `clusters/NAME/` name different clusters.",
        "Move the file, or remove `metadata.cluster`.",
        "error: metadata.cluster is 'prod', but the file is in clusters/test/",
    ),
    "connector/two-owners": RuleExplanation(
        "Two documents declare the same connector of the same cluster. Both are blocked.",
        "Keep one of the documents.",
        "error: connector 'orders' in cluster 'prod' is declared more than once: also at b.yaml:5:9",
    ),
    "connector/name-conflict": RuleExplanation(
        "The config contains the key `name`, and its value differs from `metadata.name`.",
        "Remove `name` from the config.",
        "error: the config names the connector 'order', but metadata.name is 'orders'",
    ),
    "connector/no-class": RuleExplanation(
        "A connector has no class: neither `spec.class` nor `connector.class` in its config.",
        "Set `spec.class` to the class of the plugin.",
        "error: the connector has no class",
    ),
    "connector/class-conflict": RuleExplanation(
        "`spec.class` and `connector.class` in the config differ.",
        "Keep only `spec.class`.",
        "error: the config's connector.class is 'FileStreamSink', but spec.class is 'FileStreamSource'",
    ),
    "connector/tasks-conflict": RuleExplanation(
        "`spec.tasksMax` and `tasks.max` in the config differ.",
        "Keep only `spec.tasksMax`.",
        "error: the config's tasks.max is '2', but spec.tasksMax is 4",
    ),
    "connector/version-conflict": RuleExplanation(
        "`spec.version` and `connector.plugin.version` in the config differ.",
        "Keep only `spec.version`.",
        "error: the config's connector.plugin.version is '1.0', but spec.version is '2.0'",
    ),
    "connector/invalid-version": RuleExplanation(
        "The version of the plugin is neither a version nor a range of versions in Maven's syntax.",
        'Write a version such as `1.2.3`, or a range such as `"[1.0,2.0)"`.',
        "error: expected a version or a range of versions, found '[1.0'",
    ),
    "connector/secret-conflict": RuleExplanation(
        "The same key is in `spec.config` and in `spec.secrets`.",
        "Remove the key from `spec.config`.",
        "error: the key 'database.password' is in both spec.config and spec.secrets",
    ),
    "connector/secret-reserved": RuleExplanation(
        "`spec.secrets` contains the name, the class, the version or the number of tasks, which every plan shows.",
        "Set the value in `spec`.",
        "error: the key 'tasks.max' cannot be a secret: it is shown in every plan",
    ),
    "connector/clear-secret": RuleExplanation(
        "A config value in Git is or contains a secret in clear text. The key says so, or the form of the value, such"
        " as a password in a JDBC URL or a GitHub token. The message never shows the value.",
        "Use `spec.secrets` or a `${provider:...}` reference, and rotate the secret.",
        "warning: the value of 'database.password' looks like a secret, in clear text in Git",
        Severity.WARNING,
    ),
    "connector/unknown-annotation": RuleExplanation(
        "An annotation begins with `gitops-connect/`, but this version does not know it.",
        "Correct the name, or use another prefix for your own annotations.",
        "warning: unknown annotation 'gitops-connect/allow-unknown'",
        Severity.WARNING,
    ),
}

_SECRET: Mapping[str, RuleExplanation] = {
    "secret/missing": RuleExplanation(
        "A secret that a document names does not exist, cannot be read, or is not allowed by the settings.",
        "Provide the environment variable or the file, and allow it in `[secrets]` of the settings.",
        "error: database.password: the environment variable ORDERS_DB_PASSWORD is not set",
    ),
}

_CONNECT: Mapping[str, RuleExplanation] = {
    "connect/unusable-name": RuleExplanation(
        "Connect can create a connector of this name, but its REST API cannot address it.",
        "Choose a name without slashes, backslashes, percent signs, curly brackets and control characters.",
        "error: the connector name 'a/b' cannot be used: '/' cannot be sent in a path of Connect's REST API",
    ),
    "connect/invalid-config": RuleExplanation(
        "The plugin rejects the config. The message comes from the plugin.",
        "Correct the config key that the message names.",
        'error: Missing required configuration "topic" which has no default value.',
    ),
    "connect/unknown-plugin": RuleExplanation(
        "The workers do not have the class of the connector.",
        "Correct the class, or install the plugin on every worker.",
        "error: the worker has no connector class 'FileStremSource'",
    ),
    "connect/version-not-installed": RuleExplanation(
        "The workers do not have the version of the plugin that the config chooses, or no version in its range.",
        "Use one of the installed versions, which the hint lists, or install the version on every worker.",
        "error: the worker has no version 9 of org.example.OrdersSource",
    ),
    "connect/too-old": RuleExplanation(
        "The config chooses the version of a plugin, and the workers are older than Kafka 4.1. They accept the key,"
        " ignore it, and run the newest version that is installed.",
        "Remove the version, or upgrade the workers to Kafka 4.1 or newer.",
        "error: Kafka Connect 3.9.1 cannot choose the version of a plugin (4.1 and later can), and would ignore"
        " connector.plugin.version",
    ),
    "connect/unknown-key": RuleExplanation(
        "A config contains a key that the plugin does not define, and that no connector is known to read anyway.",
        "Correct the key. If the plugin reads it, allow it with the annotation `gitops-connect/allow-unknown-keys`.",
        "warning: unknown config key 'table.includes.list': "
        "io.debezium.connector.mysql.MySqlConnector does not define it",
        Severity.WARNING,
    ),
    "connect/unused-allowance": RuleExplanation(
        "A pattern in `gitops-connect/allow-unknown-keys` matches no unknown config key.",
        "Remove or correct the pattern.",
        "warning: gitops-connect/allow-unknown-keys allows 'my.*', but no unknown config key matches it",
        Severity.WARNING,
    ),
    "connect/not-validated": RuleExplanation(
        "A config was not checked: Connect did not answer, `validate_timeout` has passed, or the documents are not"
        " merged and no worker describes the class.",
        "Make sure that Connect answers, or raise `validate_timeout`. Connect validates unmerged documents after the"
        " merge.",
        "warning: Connect could not check this config: connect cluster prod: no worker answered",
        Severity.WARNING,
    ),
}

CONNECTORS: Mapping[str, RuleExplanation] = {**_CONNECTOR, **_SECRET, **_CONNECT}
