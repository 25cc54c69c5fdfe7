"""The meaning of a Connect worker's answer, found by its message and not by its status alone.

Connect answers 409 both for a rebalance and for a name that is taken. It answers 500 for a rebalance, for its own
timeout, for a body that it cannot parse and for anything that a plugin throws (`HerderRequestHandler`,
`ConnectExceptionMapper`). An answer that is not Connect's JSON says nothing about Connect: a worker that is starting
answers 404 to everything. `responses.toml` lists the messages, and docs/reference/connect-answers.md
explains them to users.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from gitops_connect import errors
from gitops_connect.bounded_http import decode
from gitops_connect.errors import (
    ConnectRefused,
    ConnectUnavailable,
    GitopsConnectError,
    OffsetsNotChanged,
    OutcomeUnknown,
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
_TIMED_OUT = re.compile("Request timed out|Request interrupted|Timed out while|Unexpectedly interrupted while")
_FORWARDING = "trying to forward REST request"
_ACL = "an AuthorizationException there means a missing ACL (docs/reference/permissions.md)"
_LEADER_LOG = f"find the cause in the log of the worker that leads the Connect group ({_ACL})"
_SEE_LOG = f"{_LEADER_LOG}, and read the current offsets again"
_NOT_READ = "Failed to retrieve consumer group offsets for"


@dataclass(frozen=True, slots=True)
class _KnownError:
    """An error of Connect, as `responses.toml` describes it. Without `words`, any message matches."""

    error: type[GitopsConnectError]
    status: re.Pattern[str]
    words: re.Pattern[str]
    advice: str
    tries: int
    elsewhere: bool
    of_offsets: bool


@cache
def _known_errors() -> tuple[_KnownError, ...]:
    text = files("gitops_connect.connect").joinpath("responses.toml").read_text(encoding="utf-8")
    return tuple(
        _KnownError(
            getattr(errors, one["error"]),
            re.compile(one["status"]),
            re.compile("|".join(one.get("words", ()))),
            one.get("advice", "").replace("{see_log}", _SEE_LOG).replace("{leader_log}", _LEADER_LOG),
            one.get("tries", ONCE),
            one.get("elsewhere", False),
            one.get("of_offsets", False),
        )
        for one in tomllib.loads(text)["answer"]
    )


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
    """An answer of a worker. `exceeded` is the limit in bytes that the body exceeds; None if `body` is complete."""

    worker: str
    status: int
    body: bytes = field(repr=False)
    location: str = ""
    exceeded: int | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request was carried out. `body`: parsed JSON, None if it is empty, or the result of `Large.take`."""

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
        """An answer of Connect itself.

        A 500 of `Worker.modifyConnectorOffsets` or of the plugin is final, unless the request may still be in progress.
        """
        status, offsets = self.answer.status, self.request.changes_offsets
        quoted = f"{self.request}: {self._show(words)} (HTTP {status} from {self.answer.worker})"
        for one in _known_errors():
            if one.status.fullmatch(str(status)) and one.words.search(words) and (offsets or not one.of_offsets):
                text = f"{quoted}; {one.advice}" if one.advice else quoted
                return RefusedAnswer(one.error(text), one.tries, one.elsewhere)
        is_in_time = _TIMED_OUT.search(words) is None
        if offsets and status == 500 and _FORWARDING not in words and is_in_time:
            return RefusedAnswer(OffsetsNotChanged(f"{quoted}; {_SEE_LOG}"))
        if status >= 500:
            advice = f"; find the cause in the log of that worker: {_ACL}" if _NOT_READ in words else ""
            return self._uncertain(quoted + advice, FEW if is_in_time else ONCE)
        return RefusedAnswer(ConnectRefused(quoted))

    def too_large(self, limit: int) -> RefusedAnswer:
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
                why = (
                    "the answer is not from Connect itself; the worker is still starting, or a proxy has answered: "
                    "check the proxy, and the path of url"
                )
                return RefusedAnswer(ConnectUnavailable(self._foreign(why)), FEW, elsewhere=True)
            case status if 300 <= status < 400:
                advice = f"redirects to {self._show(self.answer.location)}; set that address in the settings"
                return RefusedAnswer(ConnectRefused(self._foreign(advice)))
            case 401 | 403 | 407:
                why = "the credentials are missing, wrong, or not sufficient"
                return RefusedAnswer(Unauthorized(self._foreign(why)))
            case _:
                return RefusedAnswer(ConnectRefused(self._foreign("rejected before it reached Connect")))

    def _uncertain(self, text: str, tries: int, *, elsewhere: bool = False) -> RefusedAnswer:
        """The request may have been carried out. A read is sent again; a write is never repeated without a check."""
        if self.request.effect:
            return RefusedAnswer(OutcomeUnknown(f"{text}; the change may have been made anyway"))
        return RefusedAnswer(ConnectUnavailable(text), tries, elsewhere)

    def _foreign(self, what: str) -> str:
        return f"{self.request}: HTTP {self.answer.status} from {self.answer.worker}: {what}"

    def _show(self, text: str) -> str:
        """The text without secrets, control characters and details for Connect's developers, and shortened."""
        text = _JAVA_CLASSES.sub("", mask(text, self.secrets))
        for tail in _TAILS:
            text = text.split(tail)[0]
        text = "".join(character if character.isprintable() or character == "\n" else " " for character in text)
        return text if len(text) <= _LONGEST_WORDS else text[:_LONGEST_WORDS] + "…"
