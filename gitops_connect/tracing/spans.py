"""The spans of a reconciliation. Without an exporter (`tracing.export`), a span is a no-op of opentelemetry-api.

Spans contain no text of an error, because it may quote a config: the log has the text, and the id of the trace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, format_trace_id, get_current_span, get_tracer

P = ParamSpec("P")
T = TypeVar("T")
Attributes = Mapping[str, str | int]
_TRACER = get_tracer("gitops_connect")
_SECOND = 1_000_000_000


def wants_traces(environment: Mapping[str, str]) -> bool:
    """Whether the environment configures a collector, by the variables of OpenTelemetry."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not is_off and any(environment.get(f"OTEL_EXPORTER_OTLP_{name}") for name in ("ENDPOINT", "TRACES_ENDPOINT"))


@contextmanager
def span(name: str, attributes: Attributes | None = None, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[Span]:
    """A span of the `with` block, or as a decorator of each call. An exception marks the span as failed."""
    with _TRACER.start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except BaseException as error:
            mark_failed(type(error).__name__, current)
            raise


def mark_failed(error_type: str, failed: Span | None = None) -> None:
    """Mark a span as failed, without a text: the current span, or the one given. `error_type`: a class or a result."""
    failed = failed or get_current_span()
    failed.set_attribute("error.type", error_type)
    failed.set_status(Status(StatusCode.ERROR))


def ended_span(name: str, seconds: float, attributes: Attributes, error_type: str = "") -> None:
    """A span that ends now, and began `seconds` ago."""
    now = time.time_ns()
    current = _TRACER.start_span(name, start_time=now - round(seconds * _SECOND), attributes=attributes)
    if error_type:
        mark_failed(error_type, current)
    current.end(now)


@contextmanager
def request_span(method: str, url: str) -> Iterator[Span]:
    """A span of one HTTP request, up to the headers of its answer. The names are OpenTelemetry's."""
    address = urlsplit(url)
    attributes: Attributes = {
        "http.request.method": method,
        "server.address": address.hostname or "",
        "server.port": address.port or (443 if address.scheme == "https" else 80),
        "url.path": address.path,
    }
    with span(method, attributes, SpanKind.CLIENT) as current:
        yield current


def answered(current: Span, status: int) -> None:
    """Add the status of the answer to the span of a request."""
    current.set_attribute("http.response.status_code", status)
    if status >= 400:
        mark_failed(str(status), current)


def in_trace(function: Callable[P, T]) -> Callable[P, T]:
    """The function with the current span, for a call in another thread. Each result is for one call at a time."""
    return partial(copy_context().run, function)


def current_trace_id() -> str:
    """The id of the current trace as 32 hex digits; empty if the trace is not exported."""
    context = get_current_span().get_span_context()
    return format_trace_id(context.trace_id) if context.trace_flags.sampled else ""
