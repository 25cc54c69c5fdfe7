"""The config keys that Strimzi's operator sets in every connector of a mirror, whatever the connector's config says.

Source: `KafkaMirrorMaker2Connectors.prepareMirrorMaker2ConnectorConfig` of Strimzi, and before 0.40 the method of the
same name in `KafkaMirrorMaker2AssemblyOperator`.
"""

from __future__ import annotations

from gitops_connect.desired.strimzi.mirror_maker_fields import MIRROR
from gitops_connect.desired.strimzi.resource import Layer, PlacedValue, Problems, Section, layer, written
from gitops_connect.desired.strimzi.resource_schema import IGNORED, path
from gitops_connect.desired.strimzi.secret_placeholders import DIRECTORIES
from gitops_connect.model.documents import Pointer
from gitops_connect.model.strimzi import StrimziVersion

_EXCLUDE_KEYS = StrimziVersion(0, 24)
_OPENTELEMETRY = StrimziVersion(0, 32)
_JAEGER_IGNORED = StrimziVersion(0, 37)
_OPENTELEMETRY_V2_6 = StrimziVersion(0, 40)
_RACK = StrimziVersion(0, 29)
_RACK_IF_DECLARED = StrimziVersion(0, 40)
_REPORTER = StrimziVersion(0, 48)
_CLIENT_REPORTER = StrimziVersion(1, 0)

_RACK_KEY = "consumer.client.rack"
_REPORTERS = "metric.reporters"


def pattern_keys(mirror: Section, version: StrimziVersion, problems: Problems) -> Layer:
    """The keys of the patterns of a mirror. All connectors of the mirror get all of them."""
    keys: dict[str, PlacedValue] = {}
    for subject in ("topics", "groups"):
        included = mirror.get(f"{subject}Pattern")
        if included is not None:
            keys[subject] = PlacedValue(included, mirror.at(f"{subject}Pattern"))
        excluded = _excluded(mirror, subject, problems)
        if excluded is not None:
            keys[f"{subject}.{'exclude' if version >= _EXCLUDE_KEYS else 'blacklist'}"] = excluded
    return keys


def _excluded(mirror: Section, subject: str, problems: Problems) -> PlacedValue | None:
    new, old = f"{subject}ExcludePattern", f"{subject}BlacklistPattern"
    if mirror.get(new) is not None and mirror.get(old) is not None:
        summary = f"{path(mirror.at(old))} is ignored: {new} is also set"
        problems.warning(IGNORED, mirror.at(old), summary, f"remove {old}")
    found = next((name for name in (new, old) if mirror.get(name) is not None), None)
    return None if found is None else PlacedValue(mirror.get(found), mirror.at(found))


def operator_keys(spec: Section, mirror: Section, version: StrimziVersion, config: Layer) -> Layer:
    """The keys for tracing, rack and metrics. `config` is what the connector has until now."""
    return {
        **_tracing(spec, version),
        **_rack(spec, mirror, version),
        **_metrics(spec, version, config.get(_REPORTERS)),
        **written(mirror, without=MIRROR),
    }


def _tracing(spec: Section, version: StrimziVersion) -> Layer:
    tracing = spec.section("tracing")
    package = _interceptors(tracing.get("type"), version) if tracing is not None else None
    if tracing is None or package is None:
        return {}
    keys = {
        f"{client.lower()}.interceptor.classes": f"{package}.Tracing{client}Interceptor"
        for client in ("Consumer", "Producer")
    }
    return layer(keys, tracing.pointer)


def _interceptors(kind: str, version: StrimziVersion) -> str | None:
    """The package of the interceptor classes; None if the operator ignores the type."""
    if kind == "jaeger" or version < _OPENTELEMETRY:
        return "io.opentracing.contrib.kafka" if version < _JAEGER_IGNORED else None
    package = "io.opentelemetry.instrumentation.kafkaclients"
    return f"{package}.v2_6" if version >= _OPENTELEMETRY_V2_6 else package


def warn_of_ignored_tracing(spec: Section, version: StrimziVersion, problems: Problems) -> None:
    """Report tracing of the type jaeger, which newer operators ignore."""
    tracing = spec.section("tracing")
    if tracing is not None and tracing.get("type") == "jaeger" and version >= _JAEGER_IGNORED:
        summary = f"{path(tracing.pointer)} is ignored: Strimzi {version} does not support the type jaeger"
        problems.warning(IGNORED, tracing.pointer, summary, "use opentelemetry, or remove the field")


def _rack(spec: Section, mirror: Section, version: StrimziVersion) -> Layer:
    place: Pointer = spec.at("rack") if spec.get("rack") is not None else mirror.pointer
    if version < _RACK or (version >= _RACK_IF_DECLARED and spec.get("rack") is None):
        return {}
    provider = "strimzifile" if version >= DIRECTORIES else "file"
    return layer({_RACK_KEY: f"${{{provider}:/tmp/strimzi-connect.properties:{_RACK_KEY}}}"}, place)


def _metrics(spec: Section, version: StrimziVersion, reporters: PlacedValue | None) -> Layer:
    metrics = spec.section("metricsConfig")
    if metrics is None or metrics.get("type") != "strimziMetricsReporter" or version < _REPORTER:
        return {}
    package = "io.strimzi.kafka.metrics"
    new = version >= _CLIENT_REPORTER
    reporter = f"{package}.prometheus.ClientMetricsReporter" if new else f"{package}.KafkaPrometheusMetricsReporter"
    declared = reporters is not None and reporters.value is not None and reporter not in str(reporters.value)
    keys = {
        _REPORTERS: f"{reporters.value},{reporter}" if reporters is not None and declared else reporter,
        "prometheus.metrics.reporter.listener.enable": "false",
    }
    return layer(keys, metrics.pointer)
