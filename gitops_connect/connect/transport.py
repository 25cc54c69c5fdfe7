"""Sends a request to one of a cluster's workers, and reports the result.

Two rules decide everything here. A request with an effect is sent again only if it certainly was not carried out: no
connection was made, or Connect says so. A request without an effect is sent to the next worker, and again for a while,
before an error is raised.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.client import IncompleteRead
from itertools import chain
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.utils import get_environ_proxies

from gitops_connect.bounded_http import (
    CONNECT_TIMEOUT,
    Deadline,
    UnredirectedSession,
    held,
    received,
    system_reason,
    tls_reason,
)
from gitops_connect.connect.exchanges import note
from gitops_connect.connect.responses import Accepted, Answer, ConnectRequest, RefusedAnswer, read
from gitops_connect.errors import (
    ConnectRefused,
    ConnectUnavailable,
    GitopsConnectError,
    OutcomeUnknown,
    RebalanceInProgress,
    UsageError,
)
from gitops_connect.model.clock import Backoff, Clock
from gitops_connect.model.masking import mask
from gitops_connect.settings.sections import ClusterSettings, is_http_url
from gitops_connect.tracing.spans import answered, in_trace, request_span

_log = logging.getLogger("gitops_connect.requests")
RETRY = Backoff(0.25, 4.0)
"""Between the eight tries of a request pass 16 seconds: a rebalance after a worker was killed takes about 10."""

OTHERS = 2.0
"""Seconds for the answers of all workers that are asked besides the one that answers all requests."""
_LONGEST_REFUSAL = 1024 * 1024
"""Bytes that are read of an answer that is not a success: Connect's error messages are far shorter."""
_MORE_CONNECTIONS = 3
"""Idle connections that are kept besides those of `parallelism`: for the poll, and for two reads of new connectors."""
_STREAMED = 64
"""Offsets that are streamed to a file may be so many times as large as an answer in memory."""

_UNSENT_TLS = re.compile("CERTIFICATE|WRONG_VERSION_NUMBER|HANDSHAKE|UNKNOWN_CA|HTTP_REQUEST|PEM|PROTOCOL_VERSION")


@dataclass(frozen=True, slots=True)
class Large:
    """Handles an answer of more than `limit` bytes, which may be too large for memory.

    `take` gets the content while it arrives. If the answer breaks off and the request is sent to another worker, `take`
    is called again with the content from the beginning.
    """

    limit: int
    take: Callable[[Iterator[bytes]], Any]


class RebalanceWait:
    """One wait for the end of a rebalance, for all requests to a cluster: many may be refused at the same time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._refusals = 0
        self._until = -math.inf

    def wait(self, request: ConnectRequest, again: float = -math.inf) -> None:
        """Wait until `again`, and for the next try of all if the request needs the group and its time lasts so long."""
        if request.effect and self._until < request.until:
            again = max(again, self._until)
        if (seconds := again - self._clock.monotonic()) > 0:
            self._clock.sleep(seconds)

    def refused(self, sent: float) -> float:
        """A request that was sent at this time was refused. Returns when the next try is."""
        with self._lock:
            if sent >= self._until:  # else it was sent before the wait that others have begun
                self._refusals += 1
                self._until = self._clock.monotonic() + RETRY.after(self._refusals)
            return self._until

    def over(self) -> None:
        """The group has carried out a request."""
        self._refusals = 0


class Transport:
    """The workers of one cluster. Any number of threads may use it; some more than `parallelism` share connections."""

    def __init__(self, settings: ClusterSettings, clock: Clock) -> None:
        """Raises UsageError if addresses or credentials are invalid; sends no request."""
        self._workers = check_addresses(settings)
        check_authentication(settings)
        self._settings = settings
        self._clock = clock
        self._preferred = 0
        self._rebalance = RebalanceWait(clock)
        self._concealed: frozenset[str] = frozenset()
        self.until = math.inf
        """When all requests end, in seconds of the monotonic clock."""
        self._proxies = {worker: get_environ_proxies(worker) for worker in self._workers}
        self._session = UnredirectedSession(len(self._workers), max(1, settings.parallelism) + _MORE_CONNECTIONS)
        self._session.trust_env = False  # ~/.netrc must not lend its credentials to a worker

    def close(self) -> None:
        self._session.close()

    @property
    def concealed(self) -> frozenset[str]:
        return self._concealed

    def conceal(self, secrets: frozenset[str]) -> None:
        """Mask these secrets, too, in every error from now on. Only the thread that reconciles the cluster calls it."""
        self._concealed |= secrets

    def send(self, request: ConnectRequest, large: Large | None = None) -> Any:
        """The JSON of the answer, None if it has no body; for a large answer, the result of `large.take`.

        Raises ConnectUnavailable and RebalanceInProgress (certainly not carried out), OutcomeUnknown (a write that may
        have been carried out), or a subclass of ConnectRefused (not carried out, and a retry does not help).
        """
        identity = identify(self._settings)
        request = replace(request, until=min(request.until, self.until))
        tried, again = 0, -math.inf
        while True:
            self._rebalance.wait(request, again)
            sent = self._clock.monotonic()
            answer = self._exchange(request, identity, large)
            if isinstance(answer, Accepted):
                return answer.body
            reading = self._read(request, answer, identity)
            if isinstance(reading, Accepted):
                if request.effect or tried:
                    self._rebalance.over()
                return reading.body
            tried += 1
            if reading.elsewhere:
                self._preferred = (self._workers.index(answer.worker) + 1) % len(self._workers)
            again = self._clock.monotonic() + RETRY.after(tried)
            if isinstance(reading.error, RebalanceInProgress):
                again = self._rebalance.refused(sent)
            if tried >= reading.tries or again >= request.until:
                raise self._named(reading.error)

    def _read(self, request: ConnectRequest, answer: Answer, identity: Identity) -> Accepted | RefusedAnswer:
        reading = read(request, answer, identity.secrets | self._concealed)
        if request.effect:
            note(str(request), f"HTTP {answer.status}" if isinstance(reading, Accepted) else str(reading.error))
        return reading

    def others(self, request: ConnectRequest) -> Sequence[Any]:
        """The JSON of each other worker's answer to a read, all within `OTHERS` seconds. Others are skipped.

        A worker that is down is no problem here: requests are sent to the next one.
        """
        workers = [worker for index, worker in enumerate(self._workers) if index != self._preferred]
        identity = identify(self._settings)
        limited = replace(request, until=min(self._clock.monotonic() + OTHERS, self.until))

        def ask(worker: str) -> Any:
            with suppress(requests.RequestException, OSError):
                answer = self._ask(worker, limited, identity, None)
                return answer if isinstance(answer, Accepted) else read(limited, answer, identity.secrets)

        with ThreadPoolExecutor(max(1, len(workers)), thread_name_prefix="workers") as pool:
            asked = [pool.submit(in_trace(ask), worker) for worker in workers]
        found = (one.result() for one in asked)
        return [reading.body for reading in found if isinstance(reading, Accepted)]

    def _named(self, error: GitopsConnectError) -> GitopsConnectError:
        return type(error)(f"connect cluster {self._settings.name}: {error}")

    def _exchange(self, request: ConnectRequest, identity: Identity, large: Large | None) -> Answer | Accepted:
        """Send to the workers one after another, from the last one that answered, until one answers."""
        first, failures = self._preferred, []
        for index in (*range(first, len(self._workers)), *range(first)):
            worker = self._workers[index]
            try:
                answer = self._ask(worker, request, identity, large)
            except requests.RequestException as error:
                if request.effect and _was_sent(error):
                    note(str(request), f"no answer: {worker} {self._explain(error)}")
                    raise self._lost(request, worker, error) from error
                if self._clock.monotonic() >= request.until:
                    text = f"{request}: the time for all requests of this kind was over before {worker} answered"
                    raise self._named(ConnectUnavailable(text)) from error
                failures.append((worker, error))
            except OSError as error:
                raise UsageError(f"[clusters.{self._settings.name}]: its TLS files cannot be used: {error}") from error
            else:
                self._preferred = index
                return answer
        raise self._unreachable(request, failures) from failures[-1][1]

    def _ask(self, worker: str, request: ConnectRequest, identity: Identity, large: Large | None) -> Answer | Accepted:
        body = request.body if isinstance(request.body, bytes | None) else json.dumps(request.body).encode()
        headers: dict[str, str | bytes] = {"Accept": "application/json", "User-Agent": "gitops-connect"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        prepared = requests.Request(request.method, worker, {**headers, **identity.headers}, data=body).prepare()
        prepared.url = worker + request.path  # set here, because `prepare` would resolve `..` in a connector's name
        left = request.until - self._clock.monotonic()
        if left <= 0:
            raise requests.Timeout
        timeout = min(self._settings.timeout, left)
        with Deadline(timeout, left, request.permit) as deadline, self._sent(prepared, worker, timeout) as response:
            return self._receive(worker, response, deadline, large)

    def _sent(self, prepared: requests.PreparedRequest, worker: str, timeout: float) -> requests.Response:
        """The answer up to its headers. `timeout`: seconds for each silence."""
        began = self._clock.monotonic()
        result = "no answer"
        try:
            with request_span(str(prepared.method), str(prepared.url)) as current:
                response = self._session.send(
                    prepared,
                    timeout=(min(CONNECT_TIMEOUT, timeout), timeout),
                    verify=True if self._settings.ca_file is None else str(self._settings.ca_file),
                    cert=self._certificate(),
                    proxies=self._proxies[worker],
                    allow_redirects=False,
                    stream=True,
                )
                answered(current, response.status_code)
            result = f"HTTP {response.status_code}"
        finally:
            seconds = self._clock.monotonic() - began
            _log.debug("%s %s: %s after %.3fs", prepared.method, prepared.url, result, seconds)
        return response

    def _receive(
        self, worker: str, response: requests.Response, deadline: Deadline, large: Large | None
    ) -> Answer | Accepted:
        status, location = response.status_code, response.headers.get("Location", "")
        most = self._settings.max_answer
        if not 200 <= status < 300:
            body, _ = held(received(response, deadline), _LONGEST_REFUSAL)
            return Answer(worker, status, body, location)
        if large is None:
            body, is_all = held(received(response, deadline), most)
            return Answer(worker, status, body, location, None if is_all else most)
        content = _up_to(_STREAMED * most, received(response, deadline))
        begin, is_all = held(content, large.limit)
        if is_all:
            return Answer(worker, status, begin, location)
        return Accepted(large.take(chain([begin], content)))

    def _certificate(self) -> str | tuple[str, str] | None:
        certificate, key = self._settings.client_certificate, self._settings.client_key
        if certificate is None:
            return None
        return str(certificate) if key is None else (str(certificate), str(key))

    def _lost(self, request: ConnectRequest, worker: str, error: requests.RequestException) -> GitopsConnectError:
        text = f"{request}: sent to {worker}, which {self._explain(error)}; the change may have been made anyway"
        return self._named(OutcomeUnknown(text))

    def _unreachable(
        self, request: ConnectRequest, failures: list[tuple[str, requests.RequestException]]
    ) -> GitopsConnectError:
        reasons = "; ".join(f"{worker} {self._explain(error)}" for worker, error in failures)
        if all(isinstance(error, requests.exceptions.SSLError) for _, error in failures):
            advice = f"check ca_file, client_certificate and the scheme of url in [clusters.{self._settings.name}]"
            return self._named(ConnectRefused(f"{request}: no worker could be reached by TLS: {reasons}; {advice}"))
        return self._named(ConnectUnavailable(f"{request}: no worker answered: {reasons}"))

    def _explain(self, error: requests.RequestException) -> str:
        """A short explanation, because the messages of `requests` contain representations of Python objects."""
        if isinstance(error, requests.ConnectTimeout):
            return f"accepted no connection within {min(CONNECT_TIMEOUT, self._settings.timeout):g} s"
        if isinstance(error, requests.Timeout):
            return f"did not answer within {self._settings.timeout:g} s"
        if isinstance(error, requests.exceptions.SSLError):
            return f"failed the TLS handshake: {tls_reason(error)}"
        if reason := system_reason(error):
            return f"cannot be reached: {reason}"
        cause = _innermost(error)
        if isinstance(cause, ConnectionError | IncompleteRead):
            return "closed the connection before the answer was complete"
        return f"sent an answer that is not valid HTTP ({type(cause).__name__})"


def _innermost(error: BaseException) -> BaseException:
    """What the socket or `http.client` raised: urllib3 and requests wrap it as an argument of their own exceptions."""
    while inner := [one for one in error.args if isinstance(one, BaseException)]:
        error = inner[-1]
    return error


def _up_to(most: int, content: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in content:
        size += len(piece)
        if size > most:
            raise ConnectRefused(f"the offsets are larger than {most:,} bytes ({_STREAMED} times max_answer)")
        yield piece


def _was_sent(error: requests.RequestException) -> bool:
    """False if the worker certainly got nothing; the error of a connection that was never made has a `reason`."""
    if isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError):
        return False
    if isinstance(error, requests.exceptions.SSLError):
        return _UNSENT_TLS.search(str(error).upper().replace(" ", "_")) is None
    if isinstance(error, requests.ConnectionError):
        return getattr(error.args[0] if error.args else None, "reason", None) is None
    return True


# The credentials for a Connect cluster: request headers with the administrator's credentials, read at each use.

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""`token` of RFC 9110, section 5.6.2."""
_OWN_HEADERS = {"connection", "content-length", "content-type", "host", "te", "transfer-encoding", "upgrade"}
"""Headers that define how the request itself is sent: with a wrong one, both sides wait for each other."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Headers to send, and every string in them that no message may show."""

    headers: dict[str, bytes] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def check_addresses(settings: ClusterSettings) -> tuple[str, ...]:
    """The workers' addresses without a slash at their end. Raises UsageError if one is not plain http(s)."""
    return tuple(_address(url, f"[clusters.{settings.name}] url") for url in settings.url)


def _address(url: str, where: str) -> str:
    shown = mask(re.split(r"[?#]", url)[0])  # without the parts that may contain a token
    if not is_http_url(url):
        raise UsageError(f"{where}: expected an address such as https://connect.example:8083, found {shown!r}")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        advice = "remove the user name, which would be visible in logs, and set username and password instead"
        raise UsageError(f"{where}: {advice}")
    if parts.query or parts.fragment:
        raise UsageError(f"{where}: {shown!r} has a query or a fragment; remove it")
    return url.rstrip("/")


def check_authentication(settings: ClusterSettings) -> None:
    """Raise UsageError if two settings would both set the Authorization header, or if a required setting is missing."""
    where = f"[clusters.{settings.name}]"
    ways = {
        "username": settings.username is not None,
        "token": settings.token is not None,
        "headers.Authorization": any(header.lower() == "authorization" for header in settings.headers),
    }
    if len(named := [name for name, is_given in ways.items() if is_given]) > 1:
        raise UsageError(f"{where}: {' and '.join(named)} cannot be combined; keep one of them")
    for name in settings.headers:
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise UsageError(f"{where} headers: {name!r} cannot be set; remove it")
    if settings.password is not None and settings.username is None:
        raise UsageError(f"{where}: password is set, but username is not")
    if settings.client_key is not None and settings.client_certificate is None:
        raise UsageError(f"{where}: client_key is set, but client_certificate is not")


def identify(settings: ClusterSettings) -> Identity:
    """Read the credentials. Raises UsageError if one is missing, or not valid in a header."""
    headers: dict[str, bytes] = {}
    secrets: set[str] = set()
    for name, credential in settings.headers.items():
        value = credential.read()
        secrets.add(value)
        headers[name] = _header(value, f"[clusters.{settings.name}] headers.{name}")
    if settings.token is not None:
        token = settings.token.read()
        secrets.add(token)
        headers["Authorization"] = b"Bearer " + _header(token, f"[clusters.{settings.name}] token")
    if settings.username is not None:
        password = settings.password.read() if settings.password is not None else ""
        pair = base64.b64encode(f"{settings.username}:{password}".encode())
        secrets |= {password, pair.decode()}
        headers["Authorization"] = b"Basic " + pair
    return Identity(headers, frozenset(secrets))


def _header(value: str, where: str) -> bytes:
    """The value is checked here, because the HTTP library would show the value in its own error message."""
    if not value.strip() or any(ord(char) < 32 or ord(char) == 127 for char in value):
        reason = "it is empty, or contains a line break or control character"
        raise UsageError(f"{where}: the value cannot be sent: {reason}")
    return value.strip().encode()
