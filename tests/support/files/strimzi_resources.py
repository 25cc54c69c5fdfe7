"""Resources of Strimzi as text, and the desired state that they declare."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import StrimziOptions
from support.files.document_files import LOCAL, declare

OPTIONS = StrimziOptions(clusters={"my-connect": LOCAL})
LABEL = "  labels: {strimzi.io/cluster: local}\n"
SPEC = "  class: com.example.Orders\n"


def kafka_connector(spec: str = SPEC, name: str = "orders", version: str = "v1", metadata: str = LABEL) -> str:
    """A `KafkaConnector`; `spec` and `metadata` are further lines, indented by two."""
    head = f"apiVersion: kafka.strimzi.io/{version}\nkind: KafkaConnector\n"
    return f"{head}metadata:\n  name: {name}\n{metadata}spec:\n{spec}"


def with_config(lines: str) -> str:
    """A `KafkaConnector` with these lines of config, not indented."""
    return kafka_connector(f"{SPEC}  config:\n" + "".join(f"    {line}\n" for line in lines.splitlines()))


def read(contents: Mapping[str, str] | str, options: StrimziOptions = OPTIONS) -> tuple[DesiredState, Diagnostics]:
    """The state of the cluster `local`, and the problems. A string is the content of `a.yaml`."""
    files = {"a.yaml": contents} if isinstance(contents, str) else contents
    states, diagnostics = declare(files, (LOCAL, ClusterName("other")), options)
    return states[LOCAL], diagnostics


def one(text: str, options: StrimziOptions = OPTIONS) -> DesiredConnector:
    state, diagnostics = read(text, options)
    assert not diagnostics.items, diagnostics.items
    (connector,) = state.connectors
    return connector
