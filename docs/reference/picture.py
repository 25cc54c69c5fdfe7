"""Draws the plan and its apply that the README shows: `make docs` writes docs/pictures/plan.svg.

The documents below and the state of the cluster go through the program's own parser, planner and text report; only the
cluster's answers and the time of each step are written down here. Nothing in the picture is drawn by hand. The same
code always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from gitops_connect.checks import document_schemas
from gitops_connect.checks.document_schemas import SchemaCache
from gitops_connect.documents.desired_state import BuildOptions, build
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import (
    ConnectorType,
    ConnectVersion,
    ObservedConnector,
    ObservedState,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Plan
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation
from gitops_connect.report.text import TextReport

PICTURE = Path(__file__).parents[1] / "pictures" / "plan.svg"
_FONT_FACE = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""Rich names a web font; the picture uses a monospaced font of the reader's machine instead."""
SECONDS = (0.9, 0.7, 0.4, 1.1, 6.4, 6.1)
"""How long each step of the plan took."""
WIDTH = 112
"""Characters in a line; longer lines are broken."""
CLUSTER = ClusterName("prod")
REVISION = Revision("f1abd1ac0ffee0ddba11f00d0123456789abcdef")
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
JDBC_SINK = "io.aiven.connect.jdbc.JdbcSinkConnector"
DOCUMENTS = {
    "clusters/prod/orders.yaml": f"""\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {{name: orders-sink}}
spec:
  class: {JDBC_SINK}
  config: {{topics: orders, connection.url: "jdbc:postgresql://db/shop", batch.size: 500}}
---
apiVersion: gitops-connect/v1
kind: OffsetChange
metadata: {{name: 2026-11-22-skip-poison-pill}}
spec:
  connector: orders-sink
  operation: alter
  offsets: [{{partition: {{kafka_topic: orders, kafka_partition: 1}}, offset: {{kafka_offset: 121}}}}]
  reason: record 120 cannot be parsed, see INC-4711
""",
    "clusters/prod/returns.yaml": """\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {name: returns-source}
spec:
  class: org.apache.kafka.connect.file.FileStreamSourceConnector
  config: {file: /data/returns.txt, topic: returns}
""",
}


class _Files:
    """The documents, as a checkout has them."""

    diagnostics = Diagnostics()
    complete = True
    entries = tuple(
        Entry(path, hashlib.sha256(text.encode()).hexdigest(), len(text)) for path, text in DOCUMENTS.items()
    )

    def blobs(self, entries: Iterable[Entry], at_most: int | None = None) -> Iterator[Blob]:
        for entry in entries:
            yield Blob(entry.path, entry.blob_id, DOCUMENTS[entry.path].encode()[:at_most])


def plan_of_picture() -> Plan:
    """The plan that the pictures show."""
    return plan(_situation())


def text() -> str:
    """The plan, coloured, as a terminal gets it."""
    return TextReport(coloured=True).plans([plan_of_picture()])


def applied() -> str:
    """What an apply of the plan prints when all steps succeed."""
    made, report = plan_of_picture(), TextReport(coloured=True)
    outcomes = tuple(
        StepOutcome(step, Result.APPLIED, "", seconds) for step, seconds in zip(made.steps, SECONDS, strict=True)
    )
    summary = report.outcome([ReconciliationOutcome(CLUSTER, REVISION, made, Diagnostics(), outcomes)])
    return "\n".join([*map(report.step, outcomes), "", summary])


def _situation() -> Situation:
    desired = _desired()
    observed = [
        _seen("orders-sink", {"topics": "orders", "connection.url": "jdbc:postgresql://db/shop", "batch.size": "100"}),
        _seen("legacy-import", {"topics": "imports"}),
    ]
    (change,) = desired.offset_changes
    assert change.manifest is not None  # noqa: S101 - the document above declares offsets
    declared = {
        partition_text(entry.value["partition"]): offset_text(entry.value["offset"])
        for entry in change.manifest.entries
    }
    current = {
        partition_text({"kafka_topic": "orders", "kafka_partition": number}): offset_text({"kafka_offset": offset})
        for number, offset in enumerate((118, 120, 131))
    }
    return Situation(
        REVISION,
        desired,
        ObservedState(CLUSTER, ConnectVersion(4, 3, 1), {one.name: one for one in observed}),
        NOW,
        Policy(prune=True),
        {one.name: Ownership(CLUSTER, one.name, Origin.CREATED, REVISION, NOW) for one in observed},
        key=bytes(16),
        offsets=OffsetSituation(
            manifests={change.name: declared},
            current={change.connector: current},
            shapes={one.name: shape for one in desired.connectors if (shape := BUILT_IN.shape(one.config)) is not None},
        ),
    )


def _desired() -> DesiredState:
    documents = load(_Files(), ParseCache())
    problems = document_schemas.check(documents, SchemaCache())
    states, diagnostics = build(documents, [CLUSTER], problems, BuildOptions(_Files.entries))
    if diagnostics.items:
        raise ValueError(diagnostics.items)
    return states[CLUSTER]


def _seen(name: str, config: Mapping[str, str]) -> ObservedConnector:
    worker = "10.0.0.7:8083"
    whole = {"connector.class": JDBC_SINK, "tasks.max": "1", **config}
    task = TaskStatus(0, WorkerState.RUNNING, worker)
    return ObservedConnector(ConnectorName(name), ConnectorType.SINK, WorkerState.RUNNING, worker, whole, (task,), "")


def picture() -> str:
    """The plan and its apply as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    options: dict[str, Any] = {"soft_wrap": False, "highlight": False, "markup": False}
    console.print(Text("$ gitops-connect plan --out plan.json", style="bold"), **options)
    console.print(Text.from_ansi(text()), **options)
    console.print(Text("$ gitops-connect apply plan.json", style="bold"), **options)
    console.print(Text.from_ansi(applied().rstrip("\n")), **options)
    svg = console.export_svg(title="plan, then apply", theme=MONOKAI, unique_id="plan")
    local = _FONT_FACE.sub("", svg)
    return "\n".join(line.rstrip() for line in local.splitlines() if line.strip()) + "\n"
