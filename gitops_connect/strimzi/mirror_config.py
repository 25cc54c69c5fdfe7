"""The config keys of the connectors of a mirror: those of its Kafka clusters, and those that the operator sets.

Source: `KafkaMirrorMaker2Connectors` of Strimzi, and before 0.40 `KafkaMirrorMaker2AssemblyOperator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.model.strimzi import StrimziVersion
from gitops_connect.strimzi.crd import fields_of, read_data
from gitops_connect.strimzi.placeholders import DIRECTORIES, SecretPlaceholders
from gitops_connect.strimzi.resources import INVALID, Layer, PlacedValue, ResourceSection, layer, path, written

# The keys of one Kafka cluster (`addClusterToMirrorMaker2ConnectorConfig`).

_PLAINTEXT_WRITTEN = StrimziVersion(0, 40)
"""From this version on, `security.protocol` is also written without TLS and SASL."""


def cluster_keys(cluster: ResourceSection, prefix: str, secrets: SecretPlaceholders) -> Layer:
    """The keys of a cluster. `prefix` is `source.cluster.` or `target.cluster.`."""
    keys = {
        "alias": cluster.placed("alias"),
        "bootstrap.servers": cluster.placed("bootstrapServers"),
        **_security(cluster, secrets),
    }
    config = cluster.section("config")
    return {
        **{f"{prefix}{key}": one for key, one in keys.items()},
        **(written(config, prefix) if config is not None else {}),
        **written(cluster, without=fields_of("target")),
    }


def _security(cluster: ResourceSection, secrets: SecretPlaceholders) -> Layer:
    keys: dict[str, PlacedValue] = {}
    tls = cluster.section("tls")
    certificates = tls.sections("trustedCertificates") if tls is not None else ()
    for one in certificates:
        if len({"certificate", "pattern"} & one.value.keys()) != 1:
            summary = f"{path(one.pointer)} must have either certificate or pattern"
            one.problems.error(INVALID, one.pointer, summary)
    if tls is not None and certificates:
        keys |= layer(secrets.trust_store(cluster.get("alias")), tls.at("trustedCertificates"))
    authentication, sasl = _authentication(cluster, secrets)
    transport, place = ("PLAINTEXT", cluster.pointer) if tls is None else ("SSL", tls.pointer)
    protocol = PlacedValue(transport, place)
    if sasl:
        protocol = PlacedValue(f"SASL_{transport}", cluster.at("authentication"))
    is_written = protocol.value != "PLAINTEXT" or secrets.version >= _PLAINTEXT_WRITTEN
    return {**keys, **authentication, **({"security.protocol": protocol} if is_written else {})}


# The config keys that `authentication` of a mirror's cluster becomes.
#
# Source: `KafkaMirrorMaker2Connectors.addClusterToMirrorMaker2ConnectorConfig` and `AuthenticationUtils` of Strimzi.

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_USER_AND_PASSWORD: Mapping[str, tuple[str, str]] = {
    "plain": ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
    "scram-sha-256": ("SCRAM-SHA-256", _SCRAM),
    "scram-sha-512": ("SCRAM-SHA-512", _SCRAM),
}
_OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OAUTH_HANDLER = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"

_CUSTOM_PREFIXES = ("ssl.keystore.", "sasl.")
_OAUTH = read_data("oauth.yaml")


def _authentication(cluster: ResourceSection, secrets: SecretPlaceholders) -> tuple[Layer, bool]:
    """The keys of the authentication of a cluster, without a prefix, and whether the security protocol is with SASL."""
    section = cluster.section("authentication")
    if section is None:
        return {}, False
    alias, kind = cluster.get("alias"), section.get("type")
    if kind == "custom":
        return _custom(section), bool(section.get("sasl"))
    if kind == "oauth":
        keys = {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": jaas_config(_OAUTH_MODULE, dict(_oauth_options(alias, section, secrets))),
            "sasl.login.callback.handler.class": _OAUTH_HANDLER,
        }
        return layer(keys, section.pointer), True
    needed = ("certificateAndKey",) if kind == "tls" else ("username", "passwordSecret")
    missing = [key for key in needed if section.get(key) is None]
    for key in missing:
        section.missing(key, f"is required for type {kind}")
    if missing:
        return {}, False
    if kind == "tls":
        return layer(secrets.key_store(alias, section.get(needed[0])), section.at(needed[0])), False
    mechanism, module = _USER_AND_PASSWORD[kind]
    password = secrets.password(alias, section.get("passwordSecret"))
    login = jaas_config(module, {"username": section.get("username"), "password": password})
    return layer({"sasl.mechanism": mechanism, "sasl.jaas.config": login}, section.pointer), True


def _oauth_options(alias: str, section: ResourceSection, secrets: SecretPlaceholders) -> Iterator[tuple[str, Any]]:
    value = section.value
    for name, option in _OAUTH["options"].items():
        match value.get(name):
            case None:
                pass
            case bool() as switch:
                effective, text = _OAUTH["switches"][name]
                yield from [(option, text)] if switch is effective else []
            case int() as number if number <= 0:
                pass
            case one:
                yield option, one
    yield from ((f"oauth.sasl.extension.{key}", one) for key, one in value.get("saslExtensions", {}).items())
    for name, option in _OAUTH["secrets"].items():
        if name in value:
            yield option, secrets.oauth(alias, option, value[name])
    if value.get("tlsTrustedCertificates"):
        yield from secrets.oauth_trust_store(alias).items()


def _custom(section: ResourceSection) -> Layer:
    config = section.section("config")
    if config is None:
        return {}
    ignored = [key for key in config.value if not key.lower().startswith(_CUSTOM_PREFIXES)]
    for key in ignored:
        why = f"only keys that begin with {' or '.join(_CUSTOM_PREFIXES)} are used"
        config.ignored(key, why, "move the key to the config of the cluster")
    return written(config, without=ignored)


def jaas_config(module: str, options: Mapping[str, Any]) -> str:
    """A line for `sasl.jaas.config`, with the options in this order. Like Strimzi, it does not escape values."""
    written = " ".join(f'{key}="{value}"' for key, value in options.items())
    return f"{module} required {written};"


# The keys that the operator sets in every connector of a mirror, whatever the connector's config says
# (`prepareMirrorMaker2ConnectorConfig`).

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


def pattern_keys(mirror: ResourceSection, version: StrimziVersion) -> Layer:
    """The keys of the patterns of a mirror. All connectors of the mirror get all of them."""
    keys: dict[str, PlacedValue] = {}
    for subject in ("topics", "groups"):
        new, old = f"{subject}ExcludePattern", f"{subject}BlacklistPattern"
        if mirror.get(new) is not None and mirror.get(old) is not None:
            mirror.ignored(old, f"{new} is also set", f"remove {old}")
        exclude = f"{subject}.{'exclude' if version >= _EXCLUDE_KEYS else 'blacklist'}"
        for key, names in ((subject, (f"{subject}Pattern",)), (exclude, (new, old))):
            found = next((name for name in names if mirror.get(name) is not None), None)
            if found is not None:
                keys[key] = mirror.placed(found)
    return keys


def operator_keys(spec: ResourceSection, mirror: ResourceSection, version: StrimziVersion, config: Layer) -> Layer:
    """The keys for tracing, rack and metrics. `config` is what the connector has until now."""
    return {
        **_tracing(spec, version),
        **_rack(spec, mirror, version),
        **_metrics(spec, version, config.get(_REPORTERS)),
        **written(mirror, without=fields_of("mirror")),
    }


def _tracing(spec: ResourceSection, version: StrimziVersion) -> Layer:
    tracing = spec.section("tracing")
    if tracing is None or tracing_is_ignored(tracing, version):
        return {}
    package = "io.opentelemetry.instrumentation.kafkaclients"
    if tracing.get("type") == "jaeger" or version < _OPENTELEMETRY:
        package = "io.opentracing.contrib.kafka"
    elif version >= _OPENTELEMETRY_V2_6:
        package = f"{package}.v2_6"
    classes = {
        f"{client.lower()}.interceptor.classes": f"{package}.Tracing{client}Interceptor"
        for client in ("Consumer", "Producer")
    }
    return layer(classes, tracing.pointer)


def tracing_is_ignored(tracing: ResourceSection, version: StrimziVersion) -> bool:
    """Whether the operator ignores the type, as newer operators do with jaeger."""
    return tracing.get("type") == "jaeger" and version >= _JAEGER_IGNORED


def _rack(spec: ResourceSection, mirror: ResourceSection, version: StrimziVersion) -> Layer:
    is_declared = spec.get("rack") is not None
    if version < _RACK or (version >= _RACK_IF_DECLARED and not is_declared):
        return {}
    place = spec.at("rack") if is_declared else mirror.pointer
    provider = "strimzifile" if version >= DIRECTORIES else "file"
    return layer({_RACK_KEY: f"${{{provider}:/tmp/strimzi-connect.properties:{_RACK_KEY}}}"}, place)


def _metrics(spec: ResourceSection, version: StrimziVersion, reporters: PlacedValue | None) -> Layer:
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
