"""Sends the spans to a collector over OTLP, configured by the environment variables of OpenTelemetry.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import set_tracer_provider

from gitops_connect import __version__
from gitops_connect.bounded_http import BoundedSession

_LONGEST = 60.0
"""Seconds that one request to the collector may take."""
_LARGEST = 1024 * 1024
"""Bytes of an answer of the collector."""


@contextmanager
def exporting() -> Iterator[None]:
    """Export all spans until the end of the block, and then those that are not sent yet."""
    ours = Resource({"service.name": "gitops-connect", "service.version": __version__})
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
    session = BoundedSession(_LONGEST, _LARGEST)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(session=session)))
    set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()
