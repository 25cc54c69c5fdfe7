"""Explanations of the rules for offset changes."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.diagnostics import Severity
from gitops_connect.report.rules.explanation import RuleExplanation

OFFSETS: Mapping[str, RuleExplanation] = {
    "offsets/path": RuleExplanation(
        "`manifest.path` leads out of the repository.",
        "Write a path relative to the repository root, or start it with `./` or `../` to make it relative to the"
        " document.",
        "error: the path '../../orders.jsonl' leads out of the repository",
    ),
    "offsets/no-file": RuleExplanation(
        "`manifest.path` names no file of the repository, or a glob matches none. The path is relative to the"
        " repository root, unless it starts with `./` or `../`.",
        "Correct the path. The message names the path that was looked for.",
        "error: there is no file 'offsets/orders.jsonl' in the repository",
    ),
    "offsets/uri": RuleExplanation(
        "The offset manifest that a URI names does not exist, cannot be read, or is not allowed by the settings.",
        "Check the URI and the access to it. The administrator allows URIs with `[spark] uris`.",
        "error: there is no offset manifest at s3a://offsets/orders.parquet",
    ),
    "offsets/sha256": RuleExplanation(
        "The content at a URI does not have the SHA-256 of the document: it is not the content that was reviewed.",
        "Review the new content and set its SHA-256, or restore the reviewed content.",
        "error: the SHA-256 of the file at the URI is 9f86…, expected 60303… (reviewed)",
    ),
    "offsets/spark": RuleExplanation(
        "An offset manifest needs Spark, and Spark cannot check it.",
        "Fix the cause that the message names, such as a missing package or a wrong setting in `[spark]`.",
        "error: Spark needs the package pyspark: pip install 'gitops-connect[spark]'",
    ),
    "offsets/same-name": RuleExplanation(
        "Two offset changes of one cluster have the same name.",
        "Give each offset change its own name.",
        "error: offset change 'skip-19' in cluster 'prod' is declared more than once: also at b.yaml:5:9",
    ),
    "offsets/no-connector": RuleExplanation(
        "The connector of an offset change is not declared in the same cluster.",
        "Correct the name, or declare the connector. Its offsets are only changed together with its state.",
        "error: offset change skip-19: connector 'order' is not declared, did you mean 'orders'?",
    ),
    "offsets/too-old": RuleExplanation(
        "The workers are older than Kafka 3.6, which introduced the change of offsets.",
        "Upgrade the workers to Kafka 3.6 or later.",
        "error: offset change skip-19: Kafka Connect 3.5.2 cannot change offsets",
    ),
    "offsets/unacknowledged": RuleExplanation(
        "An offset change rewinds, skips or removes offsets without the acknowledgement for it.",
        "Check the effect in the plan. If it is intended, add the `acknowledge` value that the message names.",
        "kind: OffsetChange\nspec: {connector: orders, operation: reset}    # without acknowledge: [reset]",
    ),
    "offsets/rewritten": RuleExplanation(
        "The document of an offset change was edited after the change was started or applied.",
        "Restore the document, and declare the new offsets in an offset change with another name.",
        "kind: OffsetChange\nmetadata: {name: skip-19}    # applied before, and now with other offsets",
        exception="warning for `initialOffsets` that were applied",
    ),
    "offsets/unknown": RuleExplanation(
        "It is unknown whether an offset change was applied before, because the ledger is new.",
        "Check the current offsets with `gitops-connect offsets get`. Then run `gitops-connect ledger resolve"
        " NAME` with `--applied` or `--not-applied`.",
        "$ gitops-connect ledger resolve skip-19 --applied",
        Severity.WARNING,
        "error if the connector is not declared and the ledger has recorded the state as unknown",
    ),
    "offsets/failed": RuleExplanation(
        "An offset change failed. It is tried again later, unless the failure is final.",
        "Fix the cause that the message names, or change the document.",
        "$ gitops-connect ledger show skip-19",
    ),
    "offsets/unfinished": RuleExplanation(
        "An offset change was interrupted, and it is unknown whether it took effect, or offsets changed since.",
        "Compare the current offsets with the change, and record the outcome with `gitops-connect ledger"
        " resolve NAME`.",
        "$ gitops-connect ledger resolve skip-19 --applied",
    ),
}
