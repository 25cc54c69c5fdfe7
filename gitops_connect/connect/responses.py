"""The meaning of a Connect worker's answer, found by its message and not by its status alone.

Connect answers 409 both for a rebalance and for a name that is taken. It answers 500 for a rebalance, for its own
timeout, for a body that it cannot parse and for anything that a plugin throws (`HerderRequestHandler`,
`ConnectExceptionMapper`). An answer that is not Connect's JSON says nothing about Connect: a worker that is starting
answers 404 to everything. docs/reference/connect-answers.md has this table for users.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.bounded_http import decode
from gitops_connect.errors import (
    AlreadyExists,
    ConnectRefused,
    ConnectUnavailable,
    GitopsConnectError,
    GroupInUse,
    NotFound,
    NotStopped,
    OffsetsNotChanged,
    OffsetsNotSupported,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
    Unauthorized,
)
from gitops_connect.model.masking import mask

ONCE, FEW, PATIENT = 1, 5, 8
"""How often a request is sent: once; enough for a worker's short failure; enough for a rebalance."""

_LONGEST_WORDS = 2000
_TAILS = (
    "\nYou can also find the above list of errors at the endpoint",
    ", available connectors are: ",
    "\n at [Source",
)

_JAVA_CLASSES = re.compile(r"^(?:[\w.$]+\.[\w$]+Exception: )+")

_REBALANCE = (
    "a rebalance is expected",
    "conflicting operation",
    "stale configuration",
    "no known leader",
    "Only the leader ",
)
_BEFORE_ITS_EFFECT = ("Worker is shutting down", "This worker is still starting up")
_BODY_REFUSED = (
    "Unrecognized field",
    "Cannot construct instance of",
    "Cannot deserialize value of",
    "Failed to find any class that implements",
    "BadRequestException",
)
_NOT_STARTED = ("Failed to start connector", "Failed to start task")
"""The answer to a restart of a single part that fails again at once (`DistributedHerder.restartConnector`)."""
_CERTAIN: tuple[tuple[tuple[str, ...], type[GitopsConnectError], int, bool], ...] = (
    (_REBALANCE, RebalanceInProgress, PATIENT, False),
    (_BODY_REFUSED, Rejected, ONCE, False),
    (_NOT_STARTED, Rejected, ONCE, False),
    (_BEFORE_ITS_EFFECT, ConnectUnavailable, FEW, True),
)
"""Words in a 409 or 5xx that certainly mean that nothing changed: error, tries, and whether to change the worker."""

_TIMED_OUT = (
    "Request timed out",
    "Request interrupted",
    "Timed out while",
    "Unexpectedly interrupted while",
)
_FORWARDING = "trying to forward REST request"

_NOTHING_CHANGED = "nothing was changed"
_ACL = "an AuthorizationException there means a missing ACL (docs/reference/permissions.md)"
_SEE_LOG = (
    f"find the cause in the log of the worker that leads the Connect group ({_ACL}), and read the current offsets again"
)
_NOT_READ = "Failed to retrieve consumer group offsets for"
_OFFSETS: tuple[tuple[int, str, type[GitopsConnectError], str], ...] = (
    (
        400,
        "must be in the STOPPED state",
        NotStopped,
        "stop it and wait until its tasks have ended; then change its offsets",
    ),
    (
        500,
        "because its tasks haven't stopped completely yet",
        GroupInUse,
        "its consumer group has members; stop the other consumers, or restart the worker if a task hangs",
    ),
    (
        500,
        "doesn't support external modification of offsets",
        OffsetsNotSupported,
        "its class does not support it (UnsupportedOperationException), so a retry does not help",
    ),
    (500, "Timed out while trying to read to the end of the offsets topic", ConnectUnavailable, _NOTHING_CHANGED),
    (500, "Failed to read to end of config topic before modifying", ConnectUnavailable, _NOTHING_CHANGED),
    (500, "Failed to perform zombie fencing", ConnectUnavailable, f"{_NOTHING_CHANGED}; {_SEE_LOG}"),
)
"""Words in an answer to PATCH and DELETE of offsets, with their meaning: status, words, error, what to do."""


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """One call: path with the query, already quoted. `effect` is False if sending it twice changes nothing.

    A `body` of bytes is JSON that is sent unchanged. `changes_offsets` is True for PATCH and DELETE of offsets, whose
    failures have messages and meanings of their own. `secrets` are the values in the request that no message may show.
    At `until` (seconds of the client's monotonic clock) the request ends, together with all its tries. `permit` is
    called before each try is sent: it prevents that by an exception, or returns for how many seconds it may be sent.
    `decode` turns the body of the answer into a value, and raises ValueError if it is no JSON.
    """

    method: str
    path: str
    body: Any = field(default=None, repr=False)
    effect: bool = False
    changes_offsets: bool = False
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    until: float = math.inf
    permit: Callable[[], float] | None = field(default=None, repr=False, compare=False)
    decode: Callable[[bytes], Any] = field(default=decode, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, the worker that sent it, and the target if it is a redirection.

    `exceeded` is the limit (bytes) that the body of a success exceeds; None if `body` is complete.
    """

    worker: str
    status: int
    body: bytes = field(repr=False)
    location: str = ""
    exceeded: int | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request was carried out.

    `body` is the parsed JSON, None if the answer has no body, or the result of `Large.take` for a large answer.
    """

    body: Any


@dataclass(frozen=True, slots=True)
class RefusedAnswer:
    """The request was not carried out, or it is unknown whether it was.

    It may be sent `tries` times in all, `elsewhere` (to another worker) if this worker cannot carry it out.
    """

    error: GitopsConnectError
    tries: int = ONCE
    elsewhere: bool = False


def read(request: ConnectRequest, answer: Answer, secrets: frozenset[str] = frozenset()) -> Accepted | RefusedAnswer:
    """The meaning of the answer. No message contains `secrets` (of gitops-connect) and those of the request."""
    reading = _Reading(request, answer, secrets | request.secrets)
    if answer.exceeded is not None:
        return reading.too_large(answer.exceeded)
    try:
        parsed = request.decode(answer.body) if answer.body else None
        is_json = True
    except ValueError:
        parsed, is_json = None, False
    if 200 <= answer.status < 300 and is_json:
        return Accepted(parsed)
    if isinstance(parsed, dict) and "error_code" in parsed and "message" in parsed:
        return reading.by_words(str(parsed["message"]))
    return reading.by_status()


@dataclass(frozen=True, slots=True)
class _Reading:
    request: ConnectRequest
    answer: Answer
    secrets: frozenset[str]

    def by_words(self, words: str) -> RefusedAnswer:
        """An answer of Connect itself."""
        if self.answer.status == 409 or self.answer.status >= 500:
            for texts, kind, tries, elsewhere in _CERTAIN:
                if _any(words, texts):
                    return RefusedAnswer(kind(self._quote(words)), tries, elsewhere)
        if self.request.changes_offsets and (refusal := self._offsets_not_changed(words)):
            return refusal
        if self.answer.status >= 500:
            return self._failure(words)
        return self._by_status_of_connect(words)

    def _offsets_not_changed(self, words: str) -> RefusedAnswer | None:
        """A 400 for which waiting helps, or a 500 of `Worker.modifyConnectorOffsets` or of the plugin, which is final.

        None if the request may still be in progress, and for answers that any other request may get too.
        """
        for status, text, kind, advice in _OFFSETS:
            if self.answer.status == status and text in words:
                return RefusedAnswer(kind(f"{self._quote(words)}; {advice}"))
        if self.answer.status != 500 or _FORWARDING in words or _any(words, _TIMED_OUT):
            return None
        return RefusedAnswer(OffsetsNotChanged(f"{self._quote(words)}; {_SEE_LOG}"))

    def _failure(self, words: str) -> RefusedAnswer:
        """A 5xx of Connect. Nothing was sent if the worker could not connect to the leader; else all is possible."""
        if _FORWARDING in words and "Connection refused" in words:
            return RefusedAnswer(ConnectUnavailable(self._quote(words)), PATIENT, elsewhere=True)
        advice = f"; find the cause in the log of that worker: {_ACL}" if _NOT_READ in words else ""
        return self._uncertain(self._quote(words) + advice, ONCE if _any(words, _TIMED_OUT) else FEW)

    def _by_status_of_connect(self, words: str) -> RefusedAnswer:
        match self.answer.status:
            case 401 | 403:
                return RefusedAnswer(Unauthorized(self._quote(words)))
            case 404 | 405 if words in ("HTTP 404 Not Found", "HTTP 405 Method Not Allowed"):
                advice = "; this worker has no such endpoint; check its Kafka version, and the path in its address"
                return RefusedAnswer(ConnectRefused(self._quote(words) + advice))
            case 404:
                return RefusedAnswer(NotFound(self._quote(words)))
            case 409 if "already exists" in words:
                return RefusedAnswer(AlreadyExists(self._quote(words)))
            case 400 | 409 | 422:
                return RefusedAnswer(Rejected(self._quote(words)))
            case _:
                return RefusedAnswer(ConnectRefused(self._quote(words)))

    def too_large(self, limit: int) -> RefusedAnswer:
        """A success whose body is larger than the limit."""
        words = f"its answer is larger than {limit:,} bytes; if that size is expected, raise max_answer"
        if self.request.effect:
            return RefusedAnswer(OutcomeUnknown(f"{self._foreign(words)}; the change may have been made anyway"))
        return RefusedAnswer(ConnectRefused(self._foreign(words)))

    def by_status(self) -> RefusedAnswer:
        """An answer of something else: a proxy, a login page, Jetty before Connect has started; or half an answer."""
        match self.answer.status:
            case status if status >= 500 or 200 <= status < 300:
                return self._uncertain(self._foreign("its answer is not Connect's JSON"), FEW, elsewhere=True)
            case 404 | 429:
                text = self._foreign(
                    "the answer is not from Connect itself; the worker is still starting, or a proxy has answered"
                )
                return RefusedAnswer(ConnectUnavailable(text), FEW, elsewhere=True)
            case status if 300 <= status < 400:
                advice = f"redirects to {self._show(self.answer.location)}; set that address in the settings"
                return RefusedAnswer(ConnectRefused(self._foreign(advice)))
            case 401 | 403 | 407:
                return RefusedAnswer(
                    Unauthorized(self._foreign("the credentials are missing, wrong, or not sufficient"))
                )
            case _:
                return RefusedAnswer(ConnectRefused(self._foreign("rejected before it reached Connect")))

    def _uncertain(self, text: str, tries: int, *, elsewhere: bool = False) -> RefusedAnswer:
        """The request may have been carried out. A read is sent again; a write is never repeated without a check."""
        if self.request.effect:
            return RefusedAnswer(OutcomeUnknown(f"{text}; the change may have been made anyway"))
        return RefusedAnswer(ConnectUnavailable(text), tries, elsewhere)

    def _quote(self, words: str) -> str:
        return f"{self.request}: {self._show(words)} (HTTP {self.answer.status} from {self.answer.worker})"

    def _foreign(self, what: str) -> str:
        return f"{self.request}: HTTP {self.answer.status} from {self.answer.worker}: {what}"

    def _show(self, text: str) -> str:
        """The text without secrets, control characters and details for Connect's developers, and shortened."""
        text = _JAVA_CLASSES.sub("", mask(text, self.secrets))
        for tail in _TAILS:
            text = text.split(tail)[0]
        text = "".join(character if character.isprintable() or character == "\n" else " " for character in text)
        return text if len(text) <= _LONGEST_WORDS else text[:_LONGEST_WORDS] + "…"


def _any(words: str, texts: tuple[str, ...]) -> bool:
    return any(text in words for text in texts)
