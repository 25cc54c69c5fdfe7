"""`gitops-connect acls` for 10,000 connectors: the whole command, and the function that finds the permissions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.documents import Layout, Workplace, config, name
from benchmarks.figures import Figure, median
from benchmarks.planning import PROGRAM
from benchmarks.processor_time import run, spent_here
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.required_acls import AclOptions, KafkaClient, WorkerFacts
from gitops_connect.plan.kafka_acls import required_acls
from gitops_connect.report.acl_formats import AclFormat

TITLE = "Permissions on Kafka, processor time"
COUNT, RUNS, SECONDS = 10_000, 3, 2.0
_WORKER = """\
exactly_once = "enabled"
[clusters.local.worker]
group_id = "connect"
config_topic = "configs"
offsets_topic = "offsets"
status_topic = "status"
principal = "User:connect"
"""


def measure(directory: Path) -> Iterator[Figure]:
    """Exactly-once sources, each with a topic and a transactional id of its own; every format."""
    yield median(Figure(f"of {COUNT:,} connectors, without reading them", 0, "s", SECONDS), [*_found()])
    workplace = Workplace(directory / "acls", COUNT, Layout.HUNDRED_A_FILE)
    workplace.create("http://127.0.0.1:1")
    with workplace.settings.open("a", encoding="utf-8") as settings:
        settings.write(_WORKER)
    for output in AclFormat:
        command = [PROGRAM, "--config", str(workplace.settings), "acls", "--kafka-cluster", "main", "-o", output.value]
        spent = run(command, workplace.directory / "output", GITOPS_CONNECT_CACHE=str(workplace.directory / "cache"))
        yield Figure(f"the command, {COUNT:,} connectors, -o {output.value}", spent.processor, "s")


def _found() -> Iterator[float]:
    facts = WorkerFacts(
        *("connect", "configs", "offsets", "status"),
        dict.fromkeys(KafkaClient, "User:connect"),
        ExpectedSupport.ENABLED,
    )
    document = Document(Location("connectors.yaml"), {}, {})
    declared = [
        DesiredConnector(ConnectorName(name(number)), TargetState.RUNNING, config(number), document)
        for number in range(COUNT)
    ]
    for _ in range(RUNS):
        began = spent_here()
        required_acls(declared, facts, BUILT_IN, AclOptions())
        yield spent_here() - began
