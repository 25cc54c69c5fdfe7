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
        "Correct the path. The message contains the resolved path.",
        "error: there is no file 'offsets/orders.jsonl' in the repository",
    ),
    "offsets/uri": RuleExplanation(
        "The offset manifest that a URI names does not exist, cannot be read, or is not allowed by the settings.",
        "Check the URI and the access to it. The administrator allows URIs with `[spark] uris`.",
        "error: there is no offset manifest at s3a://offsets/orders.parquet",
    ),
    "offsets/sha256": RuleExplanation(
        "The SHA-256 of the content at a URI differs from the `sha256` of the document: the content was not reviewed.",
        "Review the new content and set its SHA-256, or restore the reviewed content.",
        "error: the SHA-256 of the file at the URI is 9f86…, expected 60303… (reviewed)",
    ),
    "offsets/spark": RuleExplanation(
        "An offset manifest needs Spark, and Spark cannot check it.",
        "Fix the cause that the message names, such as a missing package or a wrong setting in `[spark]`.",
        "error: Spark needs the package pyspark: pip install 'gitops-connect[spark]'",
    ),
    "offsets/same-name": RuleExplanation(
        "Two offset changes of one cluster have the same name. Neither is applied.",
        "Give each offset change its own name.",
        "error: offset change 'skip-19' in cluster 'prod' is declared more than once: also at b.yaml:5:9",
    ),
    "offsets/no-connector": RuleExplanation(
        "The connector of an offset change is not declared in the same cluster.",
        "Correct the name, or declare the connector. Its offsets are only changed together with its state.",
        "error: offset change skip-19: connector 'order' is not declared; did you mean 'orders'?",
    ),
    "offsets/too-old": RuleExplanation(
        "The workers are older than Kafka 3.6, and cannot change offsets.",
        "Upgrade the workers to Kafka 3.6 or newer.",
        "error: offset change skip-19: Kafka Connect 3.5.2 cannot change offsets",
    ),
    "offsets/unacknowledged": RuleExplanation(
        "An offset change rewinds, skips or removes offsets without the acknowledgement for it.",
        "Check the effect in the plan. If it is intended, add the `acknowledge` value that the message names.",
        "error: offset change reset-orders: all offsets (3) are removed, so that all records are reprocessed",
    ),
    "offsets/rewritten": RuleExplanation(
        "The document of an offset change was edited after the change was started or applied.",
        "Restore the document, and declare the new offsets in an offset change with another name.",
        "error: offset change skip-19: it was applied 2026-11-21 10:00:00 UTC, commit 1a2b3c4, and its document was"
        " edited since",
        exception="warning for `initialOffsets` that were applied",
    ),
    "offsets/unknown": RuleExplanation(
        "It is unknown whether an offset change was applied before, because the ledger is new.",
        "Check the current offsets with `gitops-connect offsets get`. Then run `gitops-connect ledger resolve"
        " NAME` with `--applied` or `--not-applied`.",
        "warning: offset change skip-19: the change may be older than the ledger: it is unknown whether the change was"
        " applied; run `gitops-connect ledger resolve skip-19` with --applied or --not-applied",
        Severity.WARNING,
        "error if the connector is not declared and the ledger has recorded the state as unknown",
    ),
    "offsets/failed": RuleExplanation(
        "An offset change failed. It is tried again later, unless the failure is final.",
        "Fix the cause that the message names, or change the document.",
        "error: offset change skip-19: it failed 3 times; next retry at 2026-11-21 10:32:00 UTC or when its document"
        " changes: …",
    ),
    "offsets/unfinished": RuleExplanation(
        "An offset change was interrupted. It is unknown whether it took effect, or its offsets changed since then.",
        "Compare the current offsets with the change, and record the outcome with `gitops-connect ledger"
        " resolve NAME`.",
        "error: offset change skip-19: the change was started but did not finish, and its connector has run since: it"
        " is unknown whether the change was applied; run `gitops-connect ledger resolve skip-19` with --applied or"
        " --not-applied",
    ),
}
