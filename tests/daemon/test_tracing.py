"""Traces of the daemon as a process, received by a collector on loopback."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from acceptance.workplace import Workplace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from standin.connect import StandIn
from support.daemon_log import PROGRAM, AsProcess
from support.loopback import in_thread

pytestmark = pytest.mark.slow


class Collector(ThreadingHTTPServer):
    """Keeps every span that is sent to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Span] = []
        self.services: set[str] = set()

    @property
    def environment(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server_port}"}

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def children(self, parent: Span) -> set[str]:
        return {span.name for span in self.spans if span.parent_span_id == parent.span_id}


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        for resource in ExportTraceServiceRequest.FromString(content).resource_spans:
            self.server.services.add(attributes(resource.resource)["service.name"])
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)
        self.send_response(200 if self.path == "/v1/traces" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def attributes(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in of.attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    with in_thread(server):
        yield server


def test_a_reconciliation_is_one_trace(at: Workplace, collector: Collector) -> None:
    at.settings(more='[server]\nlisten = "127.0.0.1:0"')
    at.commit("orders.yaml", at.source("orders"))
    with AsProcess(at, environment=collector.environment) as daemon:
        url = daemon.wait("server_started")["url"]
        logged = daemon.wait("step_applied")
        daemon.wait("reconciliation_finished")
        with closing(requests.get(f"{url}/api/v1/journal", timeout=10)) as answer:
            (recorded,) = answer.json()["steps"]
        assert daemon.end() == 0
    assert collector.services == {"gitops-connect"}
    (step,) = collector.named("step create")
    assert attributes(step) == {"gitops_connect.connector": at.name("orders"), "gitops_connect.step": logged["step"]}
    assert recorded["id"] == logged["step"]
    assert step.trace_id.hex() == logged["trace_id"]
    (applied,) = [span for span in collector.named("apply") if span.span_id == step.parent_span_id]
    assert {"step create", "POST", "GET"} <= collector.children(applied), "requests of other threads, too"
    (whole,) = [span for span in collector.named("reconcile") if span.span_id == applied.parent_span_id]
    assert {"propose", "apply"} <= collector.children(whole)
    assert attributes(whole) == {"gitops_connect.cluster": "local", "gitops_connect.revision": logged["revision"]}
    assert not whole.parent_span_id
    assert collector.named("declare")
    (created,) = collector.named("POST")
    assert attributes(created)["http.response.status_code"] == 201
    assert attributes(created)["url.path"] == "/connectors"


def test_a_failure_is_marked_and_no_text_leaves_the_process(
    at: Workplace, standin: StandIn, collector: Collector
) -> None:
    at.commit("orders.yaml", at.source("orders"))
    standin.refuse("POST", "/connectors", 400, "the config has the password hunter2-hunter2")
    with AsProcess(at, "--once", environment=collector.environment) as daemon:
        assert daemon.wait("step_failed")
        assert daemon.code() == 1
    (step,) = collector.named("step create")
    assert step.status.code == Status.STATUS_CODE_ERROR
    assert attributes(step)["error.type"] == "StepFailed"
    assert attributes(collector.named("POST")[0])["error.type"] == "400"
    assert attributes(collector.named("reconcile")[0])["error.type"] == "StepsFailed"
    assert not [span for span in collector.spans if b"hunter2" in span.SerializeToString() or span.events]


def test_a_collector_that_does_not_answer_changes_nothing(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    nowhere = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    with AsProcess(at, "--once", environment=nowhere) as daemon:
        daemon.wait("step_applied")
        assert daemon.code() == 0
    assert any("opentelemetry" in str(line.get("logger")) for line in daemon.lines)


def test_without_the_extra_a_warning_names_it(at: Workplace, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry.sdk.resources'] = None\n")
    path = os.pathsep.join([str(hidden), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    command = [*PROGRAM, "--config", str(at.directory / "gitops-connect.toml"), "run", "--once"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    events = {line["event"]: line for line in map(json.loads, ran.stderr.splitlines())}
    assert "gitops-connect[tracing]" in events["traces_not_exported"]["message"]
