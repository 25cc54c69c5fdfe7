"""The Connect REST API in Python: one method for each endpoint that gitops-connect uses."""

from __future__ import annotations

import hashlib
import math
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

from gitops_connect.bounded_http import decode
from gitops_connect.connect import wire
from gitops_connect.connect.capabilities import Capability
from gitops_connect.connect.responses import ConnectRequest
from gitops_connect.connect.transport import Large, Transport
from gitops_connect.connect.validation import ConfigDefinition, ConfigKey, ConfigVerdict, Plugin
from gitops_connect.connect.wire import offset_lines
from gitops_connect.errors import ConnectRefused, GitopsConnectError, NotFound, OutcomeUnknown, Rejected, UsageError
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import TargetState
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.masking import distinctive, mask, mask_traces, sensitive_values
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, TopicName, unaddressable
from gitops_connect.model.observed_state import ClusterInfo, ConnectVersion, ObservedConnector
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.safe_files import FULL, without_space
from gitops_connect.settings.sections import ClusterSettings

T = TypeVar("T")
_NO_SUCH_VERSION = "not found that matches the version range"
_ANYBODY = ConnectorName("gitops-connect")
"""Used in requests for which it does not matter whether the connector exists."""


class ConnectClient:
    """One Connect cluster. Safe to use from several threads. Close it after use.

    Every method raises the errors of `Transport.send`. A write returns when Connect has accepted it, which is earlier
    than its effect: `connectors` shows the effect. A write that was certainly not carried out raises
    RebalanceInProgress, ConnectUnavailable or a ConnectRefused; OutcomeUnknown: it may have been carried out.

    `sensitive` names config keys whose values no message may show, in addition to those with sensitive names.
    """

    def __init__(self, settings: ClusterSettings, clock: Clock) -> None:
        self.cluster: ClusterName = settings.name
        self._parallelism: int = max(1, settings.parallelism)
        self._clock = clock
        self._transport = Transport(settings, clock)
        self._probe = WorkerProbe(settings.url)
        self._list = ConnectorListParser()
        self._permit: Callable[[], float] | None = None
        self._described: tuple[Plugin, ...] = ()
        self._definitions = dict[tuple[str, str], Mapping[str, ConfigKey]]()

    def guarded_by(self, permit: Callable[[], float]) -> ConnectClient:
        """This client, except that it calls `permit` directly before it sends a request with an effect.

        What `permit` raises is raised by the method, and the request is not sent. It returns for how many seconds the
        request may be sent: LedgerBusy is raised if the process was suspended for longer.
        """
        guarded = copy(self)
        guarded._permit = permit  # noqa: SLF001 - an object of this class
        return guarded

    def threads(self, count: int = 0) -> Executor:
        """Threads for requests, by default as many as requests may run in parallel."""
        return ThreadPoolExecutor(count or self._parallelism, thread_name_prefix=f"requests to {self.cluster}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def end_requests_at(self, until: float) -> None:
        """End every request from now on at this time, in seconds of the monotonic clock, together with its tries."""
        self._transport.until = until

    def conceal(self, secrets: Iterable[str]) -> None:
        """Mask these secrets in every error, verdict and trace from now on, about any connector.

        Only distinctive secrets are masked (`masking.distinctive`). Earlier secrets remain masked too: a secret that
        was changed may still be quoted.
        """
        self._transport.conceal(distinctive(secrets))

    @property
    def concealed(self) -> frozenset[str]:
        """All secrets that were given to `conceal`, as far as they are distinctive."""
        return self._transport.concealed

    def info(self) -> ClusterInfo:
        """`GET /`: the version and the Kafka cluster of the worker that answers."""
        return self._read(wire.parse_info, ConnectRequest("GET", "/"))

    def other_versions(self) -> frozenset[ConnectVersion]:
        """`GET /` of each other worker in the settings: the versions of those that answer."""
        found = set()
        for body in self._transport.others(ConnectRequest("GET", "/")):
            with suppress(GitopsConnectError):  # an answer of no worker
                found.add(wire.parse_info(body).version)
        return frozenset(found)

    def require(self, capability: Capability) -> None:
        """Raise ConnectRefused if the worker that answers is too old for it, and the errors of `info`."""
        version = self.info().version
        if not capability.is_in(version):
            raise ConnectRefused(f"connect cluster {self.cluster}: {capability.missing(version)}")

    def gone(self, workers: Collection[str]) -> frozenset[str]:
        """Those of the workers (`host:port`) that do not answer any more; see `worker_probe`."""
        return self._probe.gone(workers)

    def names(self) -> frozenset[ConnectorName]:
        """`GET /connectors`: every connector that the worker has found in the config topic so far; compare `absent`."""
        return self._read(wire.parse_names, ConnectRequest("GET", "/connectors"))

    def await_herder(self) -> None:
        """Return when the worker's herder answers: it has then read the whole config topic and joined the group.

        `GET /connectors/X/config` waits for that (`DistributedHerder.tick`), for any X, and so do all writes. The lists
        of connectors do not wait: while a worker starts, they show what it has read so far, which is nothing at first.
        """
        try:
            self._read(lambda _: None, ConnectRequest("GET", _path(_ANYBODY, "/config")))
        except NotFound:
            return

    def absent(self, names: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
        """Those of `names` that certainly do not exist. Sends two requests, or none if there are no names."""
        if not names:
            return names
        self.await_herder()
        return names - self.names()

    def connectors(self) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        """`GET /connectors?expand=status&expand=info`: state and config of all, and the names that cannot be read.

        A connector that has no status yet is in neither: Kafka leaves it out (`ConnectorsResource.listConnectors`).
        """
        request = ConnectRequest("GET", "/connectors?expand=status&expand=info", decode=self._list.decode)
        connectors, unknown = self._read(self._list.parse, request)
        return _without_secrets(connectors, self._transport.concealed), unknown

    def plugins(self) -> tuple[Plugin, ...]:
        """`GET /connector-plugins`: the connector classes of the worker that answers."""
        return self._read(wire.parse_plugins, ConnectRequest("GET", "/connector-plugins"))

    def validate(
        self, class_name: str, config: Mapping[str, str], *, sensitive: Iterable[str] = (), within: float = math.inf
    ) -> ConfigVerdict:
        """`PUT /connector-plugins/X/config/validate`. The config needs `connector.class`, and `name` to be valid.

        Raises Rejected if the class does not exist, and ConnectUnavailable after `within` seconds. Values of PASSWORD
        keys are in no message of the verdict.
        """
        path = f"/connector-plugins/{_quoted(class_name)}/config/validate"
        secrets = sensitive_values(config, sensitive)
        request = ConnectRequest("PUT", path, dict(config), secrets=secrets, until=self._clock.monotonic() + within)
        verdict = self._read(wire.parse_verdict, request)
        secrets |= sensitive_values(config, verdict.sensitive) | self._transport.concealed
        errors = {key: tuple(mask(text, secrets) for text in texts) for key, texts in verdict.errors.items()}
        return replace(verdict, errors=errors)

    def all_plugins(self) -> tuple[Plugin, ...]:
        """`GET /connector-plugins?connectorsOnly=false` (3.2 and later): also transforms, predicates and converters."""
        found = self._read(wire.parse_plugins, ConnectRequest("GET", "/connector-plugins?connectorsOnly=false"))
        if found != self._described:
            self._definitions.clear()  # a plugin may have been replaced by another with the same version
            self._described = found
        return found

    def definition(self, class_name: str, version: str = "") -> Mapping[str, ConfigKey]:
        """`GET /connector-plugins/X/config` (KIP-769, 3.2 and later): the config keys that a class defines.

        Workers from 4.1 on describe the `version` of the class; without one, the newest. The answer is kept until
        `all_plugins` finds other plugins. Raises NotFound, also for a version that the worker does not have.
        """
        known = self._definitions.get((class_name, version))
        if known is None:
            known = self._definitions[class_name, version] = self._read_definition(class_name, version)
        return known

    def sensitive_keys(self, class_name: str, version: str = "") -> frozenset[str]:
        """The keys of type PASSWORD in `definition`. Raises NotFound."""
        return ConfigDefinition(self.definition(class_name, version)).passwords

    def _read_definition(self, class_name: str, version: str) -> Mapping[str, ConfigKey]:
        query = f"?version={_quoted(version)}" if version else ""
        path = f"/connector-plugins/{_quoted(class_name)}/config{query}"
        try:
            return self._read(wire.parse_definition, ConnectRequest("GET", path))
        except Rejected as error:
            if _NO_SUCH_VERSION in str(error):
                raise NotFound(str(error)) from error
            raise

    def create(
        self,
        name: ConnectorName,
        config: Mapping[str, str],
        initial_state: TargetState | None = None,
        *,
        sensitive: Iterable[str] = (),
    ) -> None:
        """`POST /connectors`. Raises AlreadyExists; Rejected for an invalid config and for an unusable name.

        `initial_state` needs 3.7. Without it, every version accepts the body, and the connector runs.
        """
        if why := unaddressable(name):
            raise Rejected(f"connect cluster {self.cluster}: the connector name {name!r} cannot be used: {why}")
        body = wire.create_body(name, config, initial_state)
        self._write("POST", "/connectors", body, sensitive_values(config, sensitive))

    def configure(self, name: ConnectorName, config: Mapping[str, str], *, sensitive: Iterable[str] = ()) -> None:
        """`PUT /connectors/X/config`: exactly this config. Restarts the connector, even if the config is equal.

        Connect creates a connector that does not exist, and the connector runs.
        """
        self._write("PUT", _path(name, "/config"), dict(config), sensitive_values(config, sensitive))

    def stop(self, name: ConnectorName) -> None:
        """`PUT /connectors/X/stop` (3.5 and later). Raises NotFound."""
        self._write("PUT", _path(name, "/stop"))

    def pause(self, name: ConnectorName) -> None:
        """`PUT /connectors/X/pause`. Raises NotFound. A FAILED connector stays FAILED."""
        self._write("PUT", _path(name, "/pause"))

    def resume(self, name: ConnectorName) -> None:
        """`PUT /connectors/X/resume`. Raises NotFound. A FAILED connector stays FAILED."""
        self._write("PUT", _path(name, "/resume"))

    def restart(self, name: ConnectorName, *, include_tasks: bool, only_failed: bool) -> None:
        """`POST /connectors/X/restart` with the parameters of KIP-745 (3.0 and later). Raises NotFound."""
        query = f"?includeTasks={str(include_tasks).lower()}&onlyFailed={str(only_failed).lower()}"
        self._write("POST", _path(name, f"/restart{query}"))

    def restart_part(self, name: ConnectorName, task: int | None) -> None:
        """`POST /connectors/X/tasks/N/restart`, or `POST /connectors/X/restart` for the connector. Raises NotFound."""
        self._write("POST", _path(name, "/restart" if task is None else f"/tasks/{task}/restart"))

    def active_topics(self, name: ConnectorName) -> frozenset[TopicName]:
        """`GET /connectors/X/topics` (2.5 and later): the topics that the connector has used since its last reset.

        The worker answers from its own copy of the status topic, which is a moment behind that of other workers. There
        are no topics if the connector does not exist, except those that its deletion has left. Raises
        TopicTrackingDisabled.
        """
        parse = partial(wire.parse_active_topics, name)
        return self._read(parse, ConnectRequest("GET", _path(name, "/topics")))

    def reset_active_topics(self, name: ConnectorName) -> None:
        """`PUT /connectors/X/topics/reset` (2.5 and later): forget the topics, also if the connector does not exist.

        Connect forgets them one after another. A topic that the connector still uses is back with its next record.
        Raises TopicTrackingDisabled.
        """
        self._write("PUT", _path(name, "/topics/reset"))

    def offsets(self, name: ConnectorName, *, within: float = math.inf) -> Offsets:
        """`GET /connectors/X/offsets` (3.5 and later): the current offsets, in any connector state.

        Raises NotFound, and ConnectUnavailable after `within` seconds. Connect itself gives up after 90 s if it cannot
        reach the Kafka cluster of a sink's `admin.override.bootstrap.servers`.
        """
        request = ConnectRequest("GET", _path(name, "/offsets"), until=self._clock.monotonic() + within)
        return self._read(wire.parse_offsets, request)

    def save_offsets(
        self, name: ConnectorName, file: Path, limit: int, *, within: float = math.inf
    ) -> Offsets | SavedOffsets:
        """`GET /connectors/X/offsets`; an answer of more than `limit` bytes is streamed to `file`.

        The file has one entry a line, as Connect has written it. It exists only if SavedOffsets are returned. Raises
        NotFound, UsageError if the file cannot be written, and ConnectUnavailable after `within` seconds.
        """

        def read(body: Any) -> Offsets | SavedOffsets:
            return body if isinstance(body, SavedOffsets) else wire.parse_offsets(body)

        large = Large(limit, partial(save_offsets, file=file))
        until = self._clock.monotonic() + within
        return self._read(read, ConnectRequest("GET", _path(name, "/offsets"), until=until), large)

    def alter_offsets(self, name: ConnectorName, offsets: OffsetPatch) -> str:
        """`PATCH /connectors/X/offsets` (3.6 and later): merges, and a None removes the offset of its partition.

        Returns Connect's warning, which is mostly empty. Raises NotStopped and GroupInUse (not possible now),
        OffsetsNotSupported, OffsetsNotChanged (the change failed), Rejected (also if there are no offsets at all),
        NotFound.
        """
        return self._change_offsets(name, "PATCH", wire.offsets_body(offsets))

    def alter_offsets_with(self, name: ConnectorName, body: bytes) -> str:
        """`PATCH /connectors/X/offsets` with a body of JSON that is sent unchanged, and that no message quotes.

        Returns and raises as `alter_offsets`.
        """
        return self._change_offsets(name, "PATCH", body)

    def reset_offsets(self, name: ConnectorName) -> str:
        """`DELETE /connectors/X/offsets` (3.6 and later): removes all. Returns and raises as `alter_offsets`."""
        return self._change_offsets(name, "DELETE")

    def delete(self, name: ConnectorName) -> None:
        """`DELETE /connectors/X`. No error if the connector does not exist; `absent` shows whether it is gone."""
        try:
            self._write("DELETE", _path(name))
        except NotFound:
            return

    def _read(self, parse: Callable[[Any], T], request: ConnectRequest, large: Large | None = None) -> T:
        try:
            return parse(self._transport.send(request, large))
        except wire.UnreadableAnswer as error:
            text = f"connect cluster {self.cluster}: {request}: this is not an answer of Kafka Connect: {error}"
            raise ConnectRefused(f"{text}; check url in [clusters.{self.cluster}]") from error

    def _change_offsets(self, name: ConnectorName, method: str, body: Any = None) -> str:
        request = ConnectRequest(
            method, _path(name, "/offsets"), body, effect=True, changes_offsets=True, permit=self._permit
        )
        try:
            return wire.parse_warning(self._transport.send(request))
        except wire.UnreadableAnswer as error:
            text = f"connect cluster {self.cluster}: {request}: this is not an answer of Kafka Connect: {error}"
            raise OutcomeUnknown(f"{text}; the change may have been made anyway") from error

    def _write(self, method: str, path: str, body: Any = None, secrets: frozenset[str] = frozenset()) -> None:
        self._transport.send(ConnectRequest(method, path, body, effect=True, secrets=secrets, permit=self._permit))


def _path(name: ConnectorName, endpoint: str = "") -> str:
    return f"/connectors/{_quoted(name)}{endpoint}"


def _quoted(segment: str) -> str:
    return quote(segment, safe="")


def _without_secrets(
    connectors: Mapping[ConnectorName, ObservedConnector], concealed: frozenset[str]
) -> Mapping[ConnectorName, ObservedConnector]:
    """The connectors with masked secrets in their traces, as far as the configs of the cluster reveal the secrets."""
    if not any(_has_trace(one) for one in connectors.values()):
        return connectors
    own = {name: sensitive_values(one.config) for name, one in connectors.items()}
    shared = concealed | distinctive(chain.from_iterable(own.values()))
    return {name: mask_traces(one, own[name] | shared) if _has_trace(one) else one for name, one in connectors.items()}


def _has_trace(connector: ObservedConnector) -> bool:
    return bool(connector.trace) or any(task.trace for task in connector.tasks)


# The list of all connectors with their configs and states, which most answers of an idle cluster repeat.

_REPEATED = object()


class ConnectorListParser:
    """Parses `GET /connectors?expand=status&expand=info`; an answer equal to the last one is not parsed again."""

    def __init__(self) -> None:
        self._received = self._parsed = b""
        self._found: tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]] = {}, frozenset()

    def decode(self, body: bytes) -> Any:
        """The value for `parse`. Raises ValueError as `decoding.decode`."""
        self._received = hashlib.sha256(body).digest()
        return _REPEATED if self._received == self._parsed else decode(body)

    def parse(self, value: Any) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        """The connectors, and the names that cannot be read. Raises UnreadableAnswer."""
        if value is not _REPEATED:
            self._found = wire.parse_connectors(value)
            self._parsed = self._received
        return self._found


# Detects workers that are gone. Connect's REST API does not list its workers.
#
# A worker that has ended keeps its tasks for some minutes: Connect reports them as RUNNING on that worker until it
# assigns them to another one (KIP-415). The id of a worker is the host and port of its REST listener
# (`rest.advertised.host.name`). It may not be reachable from here, for example behind a load balancer. So only a
# worker that was reached before, or that the settings name, counts as gone when it no longer accepts a connection.

TIMEOUT = 1.0
"""Seconds until a worker that does not accept the connection is given up."""
_AT_ONCE = 16
"""Workers that are tried at the same time."""


class WorkerProbe:
    """Remembers the workers of one cluster that could be reached."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._reached = {urlsplit(url).netloc.rpartition("@")[2] for url in urls}

    def gone(self, workers: Collection[str]) -> frozenset[str]:
        """Those of the workers that could be reached before, and do not accept a connection now.

        Nothing is sent: the names come from answers of Connect, and must not get any credentials.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:  # a worker that is away takes a second
            answers = zip(workers, pool.map(_accepts, workers), strict=True)
        answering = {worker for worker, accepts in answers if accepts}
        self._reached |= answering
        return frozenset(worker for worker in workers if worker in self._reached) - answering


def _accepts(worker: str) -> bool:
    host, _, port = worker.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        return False
    try:
        socket.create_connection((host.strip("[]"), int(port)), TIMEOUT).close()
    except (OSError, UnicodeError):  # UnicodeError: a host name that no resolver accepts
        return False
    return True


# Offsets that do not fit into memory are written to a file while they arrive.

_LINES = 5000


def save_offsets(content: Iterable[bytes], file: Path) -> SavedOffsets:
    """Save an answer of Connect, one entry a line. Raises as `save_lines`, and the errors of `wire.offset_lines`."""
    lines = offset_lines(content)
    return save_lines(iter(lambda: "".join(f"{line}\n" for line in islice(lines, _LINES)).encode(), b""), file)


def save_lines(blocks: Iterable[bytes], file: Path) -> SavedOffsets:
    """Write blocks of whole lines to the file, which is replaced. If that fails, the file is removed.

    The directory is created if it is missing. Raises UsageError if the file cannot be written, and errors of `blocks`.
    """
    entries, size, digest = 0, 0, hashlib.sha256()
    try:
        with _named(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            stream = file.open("wb", buffering=0)
        with stream:
            for block in blocks:
                with _named(file):
                    stream.write(block)
                entries, size = entries + block.count(b"\n"), size + len(block)
                digest.update(block)
    except BaseException:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        raise
    return SavedOffsets(str(file), entries, size, Digest(digest.hexdigest()))


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = (
            f"the current offsets cannot be written to {file}: {error.strerror or error};"
            " free some space: a large change stores all current offsets there"
        )
        if error.errno in FULL:
            with suppress(OSError):
                file.unlink(missing_ok=True)
            raise without_space(UsageError, what, file.parent) from error
        raise UsageError(what) from error
