"""Explanations of the rules for offset manifests, and for offsets that a document contains."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.diagnostics import Severity
from gitops_connect.report.rules.explanation import RuleExplanation

_UNREAD = "warning for a partition if the document has `acknowledge: [unread]`"
_MIRROR = '{"partition": {"cluster": "source", "topic": "orders", "partition": 0'

_FILES: Mapping[str, RuleExplanation] = {
    "manifest/encoding": RuleExplanation(
        "A line, row or entry of the offset manifest is not UTF-8, or contains a NUL character or half of a surrogate "
        "pair. The others are still checked. Of YAML, and of a file in UTF-16 or UTF-32, nothing else is checked.",
        "Save the manifest as UTF-8.",
        "error: the offset manifest is not UTF-8: byte 0xe9",
    ),
    "manifest/compression": RuleExplanation(
        "A compressed offset manifest is damaged, incomplete, in another format than its suffix, or has data after it.",
        "Compress the manifest again with gzip (suffix `.gz`) or zstd (suffix `.zst`).",
        "error: the offset manifest cannot be decompressed: it does not begin like a .gz file",
    ),
    "manifest/syntax": RuleExplanation(
        "The content is not valid in the format that the suffix of the file name specifies, or is nested too deep.",
        "Correct the content at the line and column of the message, which are those at which reading stopped.",
        '{"partition": {"filename": "/a"}, "offset": {"position": 5}',
    ),
    "manifest/duplicate-key": RuleExplanation(
        "A key appears twice in one mapping. Connect would silently use the last value.",
        "Keep only the correct value.",
        '{"partition": {"filename": "/a"}, "offset": {"position": 5, "position": 50}}',
    ),
    "manifest/number": RuleExplanation(
        "A number cannot be stored exactly as it is written.",
        "Write a whole number without fraction and exponent.",
        '{"partition": {"filename": "/a"}, "offset": {"position": 1e400}}',
    ),
    "manifest/format": RuleExplanation(
        "The file is not an offset manifest, or its name has no known suffix.",
        'Write `{"offsets": [...]}`, a list of entries, or one entry per line, in a file with a known suffix.',
        "error: this is not an offset manifest: its name has no suffix, expected one of .json, .yaml, ...",
    ),
    "manifest/empty": RuleExplanation(
        "The offset manifest has no entries.",
        "Add an entry. To remove all offsets, use `operation: reset`.",
        '{"offsets": []}',
    ),
    "manifest/too-large": RuleExplanation(
        "The offset manifest is larger than the limit of its format.",
        "Use JSON Lines or Parquet, or split the manifest into several offset changes.",
        "error: the offset manifest is too large: more than 200,000 entries",
    ),
    "manifest/schema-broken": RuleExplanation(
        "A file in `offset-schemas/` is not a JSON Schema, or refers to another file. It is ignored.",
        "Correct the schema. The hint says how.",
        "error: this offset schema cannot be used: x-unit is not a string",
    ),
}

_ENTRIES: Mapping[str, RuleExplanation] = {
    "manifest/entry": RuleExplanation(
        "An entry is not a mapping with a partition and an offset.",
        'Write `{"partition": {...}, "offset": {...}}`.',
        '["orders", 0, 5]',
    ),
    "manifest/no-partition": RuleExplanation(
        "An entry has no partition.",
        "Add the partition that the offset is for.",
        '{"offset": {"position": 5}}',
    ),
    "manifest/no-offset": RuleExplanation(
        "An entry has no offset. Connect would treat that as null and remove the current offset.",
        "Add the offset, or `null` to remove the current offset.",
        '{"partition": {"filename": "/a"}}',
    ),
    "manifest/shape": RuleExplanation(
        "A partition or an offset lacks a field of the connector's class, or a partition has a field too many.",
        "Add or remove the field. The hint lists the expected ones.",
        _MIRROR + ', "zone": "a"}, "offset": {"offset": 5}}',
        exception=_UNREAD,
    ),
    "manifest/type": RuleExplanation(
        "A field does not have the type that the connector reads.",
        "Write a value of the type that the message names.",
        _MIRROR + '}, "offset": {"offset": "5"}}',
        exception=_UNREAD,
    ),
    "manifest/current-type": RuleExplanation(
        "A field has another type than in the current offsets of the connector.",
        "Use the current type. If a new version of the connector stores another type, reset the connector first.",
        '{"partition": {"shard": "1"}, "offset": {"seq": 5}}    # a current partition is {"shard": 1}',
        exception=_UNREAD,
    ),
    "manifest/negative": RuleExplanation(
        "A position is negative.",
        "Write 0 or more.",
        '{"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": -1}}',
        exception=_UNREAD,
    ),
    "manifest/range": RuleExplanation(
        "A number has more than 64 bits, the number of a Kafka partition more than 32, or a fixed value differs.",
        "Write a number within the limit that the message names.",
        '{"partition": {"kafka_topic": "orders", "kafka_partition": 4294967296}, "offset": {"kafka_offset": 5}}',
        exception=_UNREAD,
    ),
    "manifest/choice": RuleExplanation(
        "A field with a fixed set of values has another value, with which the task of the connector would fail.",
        "Use one of the values that the message lists.",
        '{"partition": {"server": "shop"}, "offset": {"lsn": 5, "messageType": "UPSERT"}}',
    ),
    "manifest/contradiction": RuleExplanation(
        "A changed field of the offset has no effect: another field, which stays the same, decides where to resume.",
        "Change both fields, or remove the field that the hint names.",
        'lsn is changed, lsn_proc is not:\n{"partition": {"server": "shop"}, "offset": {"lsn": 500, "lsn_proc": 600}}',
    ),
    "manifest/value": RuleExplanation(
        "A key or value cannot be written as JSON in UTF-8: half of a surrogate pair, or a number that is not finite.",
        "Correct the value.",
        '{"partition": {"filename": "\\\\ud83d"}, "offset": {"position": 5}}',
    ),
    "manifest/tombstone": RuleExplanation(
        "An offset is null in `operation: replace` or in `initialOffsets`. A null offset has no meaning there.",
        "Remove the entry.",
        "operation: replace\noffsets:\n  - {partition: {filename: /a}, offset: null}",
    ),
    "manifest/duplicate": RuleExplanation(
        "A partition appears twice with the same offset. Often one of the entries should name another partition.",
        "Correct the partition of one entry, or remove this entry.",
        "error: lines 3 and 9 have the same partition, with the same offset",
    ),
    "manifest/conflict": RuleExplanation(
        "A partition appears twice with different offsets. Connect would silently use the last offset.",
        "Keep only the correct entry.",
        'error: lines 3 and 9 have the same partition, with the offsets {"position":5} and {"position":6}',
    ),
    "manifest/own-schema": RuleExplanation(
        "An entry violates the schema that the repository has for the connector's class in `offset-schemas/`.",
        "Correct the entry or the schema.",
        "error: offset.count violates offset-schemas/com.example.Source.schema.json: -1 is less than the minimum of 0",
        exception=_UNREAD,
    ),
    "manifest/unknown-field": RuleExplanation(
        "The connector's class is not known to use a field.",
        "Correct the name of the field, or remove it.",
        '{"partition": {"filename": "/a"}, "offset": {"position": 5, "positon": 6}}',
        Severity.WARNING,
    ),
    "manifest/nothing-to-remove": RuleExplanation(
        "An entry removes the offset of a partition (`offset: null`) for which the connector has no offset.",
        "Check how the partition is written in `gitops-connect offsets get`, or remove the entry.",
        "warning: the connector has no offset for this partition, so nothing is removed",
        Severity.WARNING,
    ),
}

_CONFIG: Mapping[str, RuleExplanation] = {
    "manifest/alias": RuleExplanation(
        "A cluster alias in a partition of a mirror differs from the alias in the connector's config.",
        "Use the `source.cluster.alias` or `target.cluster.alias` of the connector.",
        _MIRROR.replace('"source"', '"sorce"') + '}, "offset": {"offset": 5}}',
        exception=_UNREAD,
    ),
    "manifest/file": RuleExplanation(
        "The file name in a partition is not the `file` of the connector's config.",
        "Write the file name exactly as in the config.",
        '{"partition": {"filename": "/data/other.txt"}, "offset": {"position": 5}}',
        exception=_UNREAD,
    ),
    "manifest/server": RuleExplanation(
        "The logical name in a partition of Debezium differs from the name in the connector's config.",
        "Use `topic.prefix` of the connector (in Debezium 1: `database.server.name` or `mongodb.name`).",
        '{"partition": {"server": "other"}, "offset": {"file": "mysql-bin.000003", "pos": 4}}',
        exception=_UNREAD,
    ),
    "manifest/database": RuleExplanation(
        "The database in a partition is not one of the databases in the connector's config.",
        "Use a database of `database.names` (in Debezium 1: `database.dbname`).",
        '{"partition": {"server": "shop", "database": "inventry"}, "offset": {"commit_lsn": "0000002b:00000c70:0003"}}',
        exception=_UNREAD,
    ),
    "manifest/topic": RuleExplanation(
        "A sink or a mirror does not read the topic of a partition.",
        "Correct the topic, or add it to `topics` or `topics.regex` of the connector.",
        '{"partition": {"kafka_topic": "other", "kafka_partition": 0}, "offset": {"kafka_offset": 5}}',
        exception=_UNREAD,
    ),
    "manifest/table": RuleExplanation(
        "A JDBC source does not read the table of a partition, or it has a query instead of tables.",
        "Correct the table. The message says what the connector reads.",
        '{"partition": {"table": "incc"}, "offset": {"incrementing": 5}}    # table.whitelist is inc',
        exception=_UNREAD,
    ),
    "manifest/task": RuleExplanation(
        "A partition has the key of a task, but the connector does not store offsets for each task.",
        "Remove the key, or set `vitess.offset.storage.per.task: true` in the config.",
        '{"partition": {"server": "shop", "task_key": "task0_2_1"}, "offset": {"vgtid": "[...]"}}',
        exception=_UNREAD,
    ),
}

MANIFESTS: Mapping[str, RuleExplanation] = {**_FILES, **_ENTRIES, **_CONFIG}
