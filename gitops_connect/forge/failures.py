"""Turns the failures of a forge into named errors, which say what was asked, of which forge, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import requests

from gitops_connect.bounded_http import AnswerTooLarge, system_reason, tls_reason
from gitops_connect.errors import ForgeNotFound, ForgeRefused, ForgeUnavailable, UsageError
from gitops_connect.model.clock import Clock
from gitops_connect.model.masking import mask
from gitops_connect.settings.credential_sources import Credential

_LONGEST_WORDS = 500
"""Characters of a forge's own message that are quoted."""
_EXHAUSTED = ("x-ratelimit-remaining", "ratelimit-remaining")
_RESET = ("x-ratelimit-reset", "ratelimit-reset")
_RATE = re.compile(r"rate limit|abuse detection", re.IGNORECASE)
_SHORT_NUMBER = re.compile(r"[0-9]{1,11}")
_HTTP_DATE = "%a, %d %b %Y %H:%M:%S GMT"
_SHORTEST_PAUSE = timedelta(minutes=1)
"""GitHub asks for at least this pause after a secondary limit whose answer has no time."""


class UnexpectedAnswer(Exception):
    """A success that cannot be read: something else has answered, such as the login page of a proxy."""


class FailedAnswer(Exception):
    """An answer that is not a success. The names of its headers are in lower case; `words` is the forge's message."""

    def __init__(self, status: int, headers: Mapping[str, str], words: str) -> None:
        super().__init__(f"HTTP {status}: {words}")
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.words = words


@dataclass(frozen=True, slots=True)
class Failures:
    """Names one repository of a forge in every error, and masks the credential."""

    forge: str
    url: str
    repository: str
    credential: Credential
    clock: Clock

    @contextmanager
    def named(self, action: str) -> Iterator[None]:
        """Raise ForgeUnavailable or ForgeRefused for failures in the block: "cannot ACTION"."""
        try:
            yield
        except FailedAnswer as answer:
            self._reject(action, answer)
        except (UnexpectedAnswer, AnswerTooLarge) as error:
            reason = f"the answer is not that of {self.forge}: {error}; check [forge] url, and the proxy"
            raise ForgeRefused(self._text(action, reason)) from error
        except requests.exceptions.SSLError as error:
            reason = f"the TLS handshake failed: {tls_reason(error)}; check [forge] ca_file and url"
            raise ForgeRefused(self._text(action, reason)) from error
        except requests.RequestException as error:
            raise ForgeUnavailable(self._text(action, _reason(error))) from error
        except OSError as error:
            raise UsageError(f"[forge] ca_file: the file cannot be used: {error}") from error

    def _reject(self, action: str, answer: FailedAnswer) -> NoReturn:
        masked = mask(answer.words, {self.credential.read()})  # before a part of a secret is cut off
        words = "".join(one if one.isprintable() else " " for one in masked)[:_LONGEST_WORDS].strip()
        said = f"HTTP {answer.status}{f': {words}' if words else ''}"
        if _is_rate_limit(answer):
            until = self._end_of_limit(answer)
            reason = f"the rate limit is reached until {until:%Y-%m-%d %H:%M:%S} UTC ({said})"
            raise ForgeUnavailable(self._text(action, reason), until) from answer
        if answer.status == 409 or answer.status >= 500:  # 409: GitLab is busy with another request
            raise ForgeUnavailable(self._text(action, said)) from answer
        if answer.status == 404:
            advice = "check [forge] url and repository, and that the token has access to the repository"
            raise ForgeNotFound(self._text(action, f"{said}; {advice}")) from answer
        raise ForgeRefused(self._text(action, f"{said}{_ADVICE.get(answer.status, '')}")) from answer

    def _text(self, action: str, reason: str) -> str:
        place = f"{self.forge} {self.url}, repository {self.repository}"
        return mask(f"{place}: cannot {action}: {reason}", {self.credential.read()})

    def _end_of_limit(self, answer: FailedAnswer) -> datetime:
        now = self.clock.now()
        after = _time_after(now, answer.headers.get("retry-after", ""))
        reset = next((answer.headers[name] for name in _RESET if name in answer.headers), "")
        if after is None and _has_no_requests_left(answer) and _SHORT_NUMBER.fullmatch(reset):
            after = datetime.fromtimestamp(int(reset), UTC)
        return after if after is not None and after > now else now + _SHORTEST_PAUSE


_ADVICE = {
    401: "; the token is wrong, expired or revoked: create a new one, and set [forge] token",
    403: "; the token lacks a permission: grant it, or change [forge] token; docs/reference/forges.md lists all",
}


def _is_rate_limit(answer: FailedAnswer) -> bool:
    """GitHub answers 403 or 429, and other forges 429."""
    is_limit = "retry-after" in answer.headers or _has_no_requests_left(answer) or _RATE.search(answer.words)
    return answer.status == 429 or (answer.status == 403 and bool(is_limit))


def _has_no_requests_left(answer: FailedAnswer) -> bool:
    return any(answer.headers.get(name) == "0" for name in _EXHAUSTED)


def _time_after(now: datetime, text: str) -> datetime | None:
    if _SHORT_NUMBER.fullmatch(text):
        return now + timedelta(seconds=int(text))
    try:
        return datetime.strptime(text, _HTTP_DATE).replace(tzinfo=UTC)
    except ValueError:
        return None


def _reason(error: requests.RequestException) -> str:
    """A short explanation, because the messages of `requests` contain representations of Python objects."""
    if isinstance(error, requests.ConnectTimeout):
        return "it accepted no connection in time"
    if isinstance(error, requests.Timeout):
        return "it did not answer within [forge] timeout"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy cannot be used"
    reason = system_reason(error)
    if reason is None:
        return "it closed the connection, or sent no valid HTTP"
    return f"it cannot be reached: {reason}; check [forge] url"
