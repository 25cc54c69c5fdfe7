"""The HTTP side of the stand-in: Connect's REST API on a free loopback port."""

from __future__ import annotations

import json
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from threading import TIMEOUT_MAX, Event, Thread
from typing import Any, Self
from urllib.parse import parse_qs, unquote

from support.loopback import HttpHandler, HttpServer

from standin import offsets, plugins
from standin.cluster import VERBS, Cluster
from standin.faults import Fault, Faults, Parts
from standin.plugins import Refused

_AMBIGUOUS = re.compile(r"%(2F|25|5C|0[0-9A-F]|1[0-9A-F])", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """One request that was received."""

    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Reply:
    """One answer: a body that is not a string is written as JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class StandIn:
    """One worker. Several workers with the same `cluster` are a group.

    `calls` lists every request. `starting` makes it answer like a worker that is not ready yet; `authorization` is the
    header without which it answers 401.
    """

    def __init__(self, cluster: Cluster | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.cluster = cluster or Cluster()
        self.calls: list[Call] = []
        self.faults = Faults()
        self.starting = False
        self.authorization: str | None = None
        self.closing = Event()
        self._scheme = "https" if tls else "http"
        self._server = _Server(self, tls)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening, and close every connection; a second call does nothing."""
        if not self.closing.is_set():
            self.closing.set()
            self._server.shutdown()
            self._server.break_off()
            self._server.server_close()
            self._thread.join()

    def count(self, method: str = ".*", path: str = ".*") -> int:
        """The number of received requests whose method and path match."""
        return sum(1 for call in self.calls if re.fullmatch(method, call.method) and re.fullmatch(path, call.path))

    def answer(self, method: str, path: str, status: int, body: Any, **more: Any) -> None:
        """The next requests that match (`times`, else one) get this answer; with `effect`, after being carried out."""
        self.faults.add(Fault(method, path, status=status, body=body, **more))

    def refuse(self, method: str, path: str, status: int, message: str, **more: Any) -> None:
        """The next requests that match get this error, in the form of Connect's errors."""
        self.answer(method, path, status, {"error_code": status, "message": message}, **more)

    def drop(self, method: str, path: str, **more: Any) -> None:
        """The next requests that match lose their connection; with `effect`, after being carried out."""
        self.stream(method, path, lambda: iter(()), **more)

    def hang(self, method: str, path: str, **more: Any) -> None:
        """The next requests that match get no answer at all."""
        self.stream(method, path, lambda: iter([b""]), pause=TIMEOUT_MAX, **more)

    def truncate(self, method: str, path: str, **more: Any) -> None:
        """The next requests that match are carried out, and get half of their answer."""
        self.faults.add(Fault(method, path, is_cut=True, **more))

    def stream(self, method: str, path: str, parts: Parts, **more: Any) -> None:
        """The next requests that match get these bytes, `pause` seconds apart, until their client disconnects."""
        self.faults.add(Fault(method, path, parts=parts, **more))

    def carry_out(self, call: Call) -> Reply:
        """Do what Connect does with a request, and return its answer."""
        path, _, query = call.path.partition("?")
        try:
            with self.cluster.lock:
                self.cluster.catch_up()
                return self._route(call, path.strip("/").split("/"), parse_qs(query))
        except Refused as refused:
            return Reply(refused.status, {"error_code": refused.status, "message": refused.message})

    def _route(self, call: Call, segments: list[str], query: dict[str, list[str]]) -> Reply:
        match call.method, [unquote(segment) for segment in segments]:
            case "GET", [""]:
                ids = {"commit": "26b251a451ce941d", "kafka_cluster_id": "standin"}
                return Reply(200, {"version": self.cluster.version, **ids})
            case "GET", ["connectors"]:
                found = self.cluster.expanded(query["expand"]) if "expand" in query else self.cluster.names()
                return Reply(200, found)
            case "GET", ["connectors", name, "status"]:
                return Reply(200, self.cluster.status(name))
            case "GET", ["connectors", name, "topics"] if self.cluster.since >= (2, 5):
                return Reply(200, self.cluster.active_topics(name))
            case "PUT", ["connectors", name, "topics", "reset"] if self.cluster.since >= (2, 5):
                self.cluster.reset_active_topics(name)
                return Reply(202)
            case _, ["connectors", *_]:
                self.cluster.await_herder()
        return self._of_herder(call, segments, query)

    def _of_herder(self, call: Call, segments: list[str], query: dict[str, list[str]]) -> Reply:
        match call.method, [unquote(segment) for segment in segments]:
            case "POST", ["connectors"]:
                return self._create(call.body)
            case _, ["connectors", name, "offsets"] if self.cluster.since >= (3, 5):
                return Reply(200, self._offsets(call, name))
            case "POST", ["connectors", name, *task, "restart"]:
                return self._restart(name, task, query)
            case _, ["connectors", name, *endpoint]:
                return self._connector(call, name, "/".join(endpoint))
            case _, ["connector-plugins", *endpoint]:
                return self._plugin(call, endpoint, query)
            case _:
                raise Refused(404, "HTTP 404 Not Found")

    def _plugin(self, call: Call, endpoint: list[str], query: dict[str, list[str]]) -> Reply:
        match call.method, endpoint:
            case "GET", []:
                return Reply(200, plugins.listing(self.cluster.version))
            case "GET", [name, "config"]:
                if self.cluster.since >= (4, 1):
                    plugins.require_version(name, query.get("version", [self.cluster.version])[0], self.cluster.version)
                return Reply(200, plugins.definitions(name))
            case "PUT", [name, "config", "validate"]:
                return Reply(200, plugins.verdict(name, call.body, exactly_once=self.cluster.exactly_once))
            case _:
                raise Refused(404, "HTTP 404 Not Found")

    def _connector(self, call: Call, name: str, endpoint: str) -> Reply:
        match call.method, endpoint:
            case "GET", "":
                return Reply(200, self.cluster.info(name))
            case "GET", "config":
                return Reply(200, self.cluster.info(name)["config"])
            case "PUT", "config":
                created, info = self.cluster.configure(name, call.body)
                return Reply(201 if created else 200, info)
            case "PUT", "stop" | "pause" | "resume" if endpoint != "stop" or self.cluster.since >= (3, 5):
                self.cluster.transition(name, VERBS[endpoint])
                return Reply(204 if endpoint == "stop" else 202)
            case "DELETE", "":
                self.cluster.delete(name)
                return Reply(204)
            case _:
                raise Refused(404, "HTTP 404 Not Found")

    def _restart(self, name: str, task: list[str], query: dict[str, list[str]]) -> Reply:
        """KIP-745. An older worker ignores the parameters, and restarts the connector without its tasks."""
        if task:
            self.cluster.restart(name, [int(task[-1])])
            return Reply(204)
        if self.cluster.since < (3, 0) or "true" not in chain(*query.values()):
            self.cluster.restart_connector(name)
            return Reply(204)
        with_tasks, failed = (query.get(name) == ["true"] for name in ("includeTasks", "onlyFailed"))
        return Reply(202, self.cluster.restart(name, self.cluster.parts(name, tasks=with_tasks, only_failed=failed)))

    def _offsets(self, call: Call, name: str) -> dict[str, Any]:
        match call.method:
            case "GET":
                return offsets.listed(self.cluster, name)
            case "PATCH" if self.cluster.since >= (3, 6):
                return offsets.alter(self.cluster, name, call.body)
            case "DELETE" if self.cluster.since >= (3, 6):
                return offsets.reset(self.cluster, name)
            case _:
                raise Refused(405, "HTTP 405 Method Not Allowed")

    def _create(self, body: dict[str, Any]) -> Reply:
        known = {"config", "name"} | ({"initial_state"} if self.cluster.since >= (3, 7) else set())
        if strange := sorted(body.keys() - known):
            java = "org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest"
            raise Refused(500, f'Unrecognized field "{strange[0]}" (class {java}), not marked as ignorable')
        name = str(body.get("name") or "").strip()
        info = self.cluster.create(name, body["config"], body.get("initial_state"))
        if template := re.search(r"\{(\w+)\}", name):  # created all the same: only the Location cannot be built
            raise Refused(500, f"The template variable '{template[1]}' has no value")
        return Reply(201, info)


class _Server(HttpServer):
    def __init__(self, standin: StandIn, tls: ssl.SSLContext | None) -> None:
        super().__init__(_Handler, tls)
        self.standin = standin
        self.open: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def break_off(self) -> None:
        for connection in tuple(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # the client has closed it already
                continue


class _Handler(HttpHandler):
    server: _Server

    def answer(self) -> None:
        standin = self.server.standin
        content = self.body()
        call = Call(self.command, self.path, json.loads(content) if content else None, dict(self.headers))
        standin.calls.append(call)
        fault = standin.faults.meet(call.method, call.path)
        reply = self._answer(call) if fault is None or fault.effect or fault.is_cut else None
        if fault is not None and fault.parts is not None:
            self._stream(fault.parts, fault.pause)
        elif fault is not None and not fault.is_cut:
            self._send(Reply(fault.status, fault.body, fault.headers))
        elif reply is not None:
            self._send(reply, cut=fault is not None)

    def _stream(self, parts: Parts, pause: float) -> None:
        self.close_connection = True
        with suppress(OSError):  # the client has disconnected
            for part in parts():
                if self.server.standin.closing.wait(pause):
                    return
                self.wfile.write(part)

    def _answer(self, call: Call) -> Reply:
        """Jetty and an authentication filter answer before Connect does."""
        standin = self.server.standin
        if standin.starting:
            return _of_jetty(call, 404, "Not Found")
        if standin.cluster.since >= (4, 0) and _AMBIGUOUS.search(call.path.partition("?")[0]):
            return _of_jetty(call, 400, "Ambiguous URI path")
        if standin.authorization is not None and call.headers.get("Authorization") != standin.authorization:
            return Reply(401, "User cannot access the resource.", {"Content-Type": "text/plain"})
        return standin.carry_out(call)

    def _send(self, reply: Reply, *, cut: bool = False) -> None:
        is_text = isinstance(reply.body, str)
        content = b"" if reply.body is None else (reply.body if is_text else _written(reply.body)).encode()
        headers = {**reply.headers, **({"Content-Type": "application/json"} if content and not is_text else {})}
        self.send(reply.status, headers, content, len(content) // 2 if cut else None)
        self.close_connection = self.close_connection or cut


def _written(body: Any) -> str:
    """JSON as Jackson writes it: without whitespace, and with non-ASCII characters, except for lone surrogates."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    has_surrogates = not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
    return json.dumps(body, separators=(",", ":")) if has_surrogates else text


def _of_jetty(call: Call, status: int, title: str) -> Reply:
    """Jetty's answer: HTML to a GET, an empty body to any other method."""
    if call.method != "GET":
        return Reply(status, "")
    return Reply(
        status, f"<html>\n<head><title>Error {status} {title}</title></head></html>", {"Content-Type": "text/html"}
    )
