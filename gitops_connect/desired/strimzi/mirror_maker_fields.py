"""The fields of `KafkaMirrorMaker2`, and which operator versions and API versions have them.

Source: `install/cluster-operator/048-Crd-kafkamirrormaker2.yaml` in the releases 0.17 to 1.2 of Strimzi.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitops_connect.desired.strimzi.resource_schema import ALWAYS, Api, Availability, Field, Kind
from gitops_connect.model.strimzi import StrimziVersion

NEW_SHAPE = StrimziVersion(0, 49)
"""The first operator with API version v1, and with `spec.target`, which v1beta2 also has from then on."""

_OLD_API = Availability(api=Api.OLD)
_V1 = Availability(api=Api.V1)
_NEW_SHAPE = Availability(since=NEW_SHAPE)
_ONLY_OLD_SHAPE = Availability(before=NEW_SHAPE)

_TEXT = Field(Kind.STRING)
_NEEDED_TEXT = Field(Kind.STRING, required=ALWAYS)
_SWITCH = Field(Kind.BOOLEAN)
_UNCHECKED = Field(Kind.ANY)
_OLD_TEXT = Field(Kind.STRING, available=_OLD_API)
_OLD_UNCHECKED = Field(Kind.ANY, available=_OLD_API)


def _object(*, required: Availability | None = None, available: Availability = ALWAYS, **fields: Field) -> Field:
    return Field(Kind.OBJECT, fields, required=required, available=available)


def _secret_key(*, available: Availability = ALWAYS) -> Field:
    return _object(available=available, secretName=_NEEDED_TEXT, key=_NEEDED_TEXT)


_CERTIFICATE_PATTERN = StrimziVersion(0, 42)
_CERTIFICATES: Mapping[str, Field] = {
    "secretName": _NEEDED_TEXT,
    "certificate": Field(Kind.STRING, required=Availability(before=_CERTIFICATE_PATTERN)),
    "pattern": Field(Kind.STRING, available=Availability(since=_CERTIFICATE_PATTERN)),
}

_OAUTH_TEXTS = (
    "clientId",
    "scope",
    "audience",
    "tokenEndpointUri",
    "grantType",
    "accessTokenLocation",
    "clientAssertionLocation",
    "clientAssertionType",
)
_OAUTH_NUMBERS = (
    "maxTokenExpirySeconds",
    "connectTimeoutSeconds",
    "readTimeoutSeconds",
    "httpRetries",
    "httpRetryPauseMs",
)
_OAUTH_SWITCHES = ("disableTlsHostnameVerification", "accessTokenIsJwt", "enableMetrics", "includeAcceptHeader")
_OAUTH_SECRETS = ("clientSecret", "accessToken", "refreshToken", "clientAssertion")

_OAUTH: Mapping[str, Field] = {
    **dict.fromkeys(_OAUTH_TEXTS, _OLD_TEXT),
    **{name: Field(Kind.INTEGER, available=_OLD_API) for name in _OAUTH_NUMBERS},
    **{name: Field(Kind.BOOLEAN, available=_OLD_API) for name in _OAUTH_SWITCHES},
    **{name: _secret_key(available=_OLD_API) for name in _OAUTH_SECRETS},
    "saslExtensions": Field(Kind.OBJECT, available=_OLD_API),
    "tlsTrustedCertificates": Field(Kind.ARRAY, _CERTIFICATES, available=_OLD_API),
}

CUSTOM_AUTHENTICATION = Availability(since=StrimziVersion(0, 48))

_AUTHENTICATION: Mapping[str, Field] = {
    "type": Field(
        Kind.STRING,
        required=ALWAYS,
        values={
            "tls": ALWAYS,
            "scram-sha-256": Availability(since=StrimziVersion(0, 27)),
            "scram-sha-512": ALWAYS,
            "plain": ALWAYS,
            "oauth": _OLD_API,
            "custom": CUSTOM_AUTHENTICATION,
        },
    ),
    "certificateAndKey": _object(secretName=_NEEDED_TEXT, certificate=_NEEDED_TEXT, key=_NEEDED_TEXT),
    "username": _TEXT,
    "passwordSecret": _object(secretName=_NEEDED_TEXT, password=_NEEDED_TEXT),
    "sasl": Field(Kind.BOOLEAN, available=CUSTOM_AUTHENTICATION),
    "config": Field(Kind.OBJECT, available=CUSTOM_AUTHENTICATION),
    **_OAUTH,
}

_ALIAS = Field(Kind.STRING, required=ALWAYS, pattern=re.compile(r"[a-zA-Z0-9._\-]{1,100}", re.ASCII))

CLUSTER: Mapping[str, Field] = {
    "alias": _ALIAS,
    "bootstrapServers": _NEEDED_TEXT,
    "tls": _object(trustedCertificates=Field(Kind.ARRAY, _CERTIFICATES)),
    "authentication": Field(Kind.OBJECT, _AUTHENTICATION),
    "config": Field(Kind.OBJECT),
}

TARGET: Mapping[str, Field] = {
    **CLUSTER,
    **dict.fromkeys(("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic"), _NEEDED_TEXT),
}

_OFFSETS = Availability(since=StrimziVersion(0, 44))

_CONNECTOR: Mapping[str, Field] = {
    "tasksMax": Field(Kind.INTEGER, minimum=1),
    "config": Field(Kind.OBJECT),
    "pause": Field(Kind.BOOLEAN, available=_OLD_API),
    "state": Field(
        Kind.STRING,
        values={"running": ALWAYS, "paused": ALWAYS, "stopped": ALWAYS},
        available=Availability(since=StrimziVersion(0, 39)),
    ),
    "version": Field(Kind.STRING, available=_NEW_SHAPE),
    "autoRestart": Field(
        Kind.OBJECT,
        {"enabled": _SWITCH, "maxRestarts": Field(Kind.INTEGER, available=Availability(since=StrimziVersion(0, 37)))},
        available=Availability(since=StrimziVersion(0, 33)),
    ),
    "listOffsets": _object(available=_OFFSETS, toConfigMap=_object(required=ALWAYS, name=_TEXT)),
    "alterOffsets": _object(available=_OFFSETS, fromConfigMap=_object(required=ALWAYS, name=_TEXT)),
}

_EXCLUDE = Availability(since=StrimziVersion(0, 24))
_NEEDED_BEFORE_NEW_SHAPE = Field(Kind.STRING, required=_ONLY_OLD_SHAPE, available=_OLD_API)

MIRROR: Mapping[str, Field] = {
    "source": Field(Kind.OBJECT, CLUSTER, required=_V1, available=_NEW_SHAPE),
    "sourceCluster": _NEEDED_BEFORE_NEW_SHAPE,
    "targetCluster": _NEEDED_BEFORE_NEW_SHAPE,
    "sourceConnector": Field(Kind.OBJECT, _CONNECTOR),
    "checkpointConnector": Field(Kind.OBJECT, _CONNECTOR),
    "heartbeatConnector": Field(Kind.OBJECT, _CONNECTOR, available=_OLD_API),
    "topicsPattern": _TEXT,
    "topicsBlacklistPattern": _OLD_TEXT,
    "topicsExcludePattern": Field(Kind.STRING, available=_EXCLUDE),
    "groupsPattern": _TEXT,
    "groupsBlacklistPattern": _OLD_TEXT,
    "groupsExcludePattern": Field(Kind.STRING, available=_EXCLUDE),
}

_RACK_TYPE = Availability(since=StrimziVersion(1, 0))
_RACK: Mapping[str, Field] = {
    "type": Field(Kind.STRING, values={"topology-label": ALWAYS, "environment-variable": ALWAYS}, available=_RACK_TYPE),
    "topologyKey": _TEXT,
    "envVarName": Field(Kind.STRING, available=_RACK_TYPE),
}

_METRICS: Mapping[str, Field] = {
    "type": Field(
        Kind.STRING,
        required=ALWAYS,
        values={"jmxPrometheusExporter": ALWAYS, "strimziMetricsReporter": Availability(since=StrimziVersion(0, 47))},
    ),
    "valueFrom": _UNCHECKED,
    "values": _UNCHECKED,
}

_UNUSED = (
    "version",
    "image",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "jvmOptions",
    "jmxOptions",
    "logging",
    "clientRackInitImage",
    "template",
)
"""What these fields describe is the Connect cluster that the operator deploys."""

_EXTERNAL: Mapping[str, Field] = {
    "env": Field(Kind.ARRAY, {"name": _NEEDED_TEXT, "valueFrom": Field(Kind.OBJECT, required=ALWAYS)}),
    "volumes": Field(Kind.ARRAY, {"name": _NEEDED_TEXT, "secret": _UNCHECKED, "configMap": _UNCHECKED}),
}

_TRACING = {"jaeger": _OLD_API, "opentelemetry": Availability(since=StrimziVersion(0, 32))}

SPEC: Mapping[str, Field] = {
    **dict.fromkeys(_UNUSED, _UNCHECKED),
    **dict.fromkeys(("affinity", "tolerations", "metrics"), _OLD_UNCHECKED),
    "externalConfiguration": Field(Kind.OBJECT, _EXTERNAL, available=_OLD_API),
    "replicas": Field(Kind.INTEGER, required=_V1, minimum=0),
    "connectCluster": _NEEDED_BEFORE_NEW_SHAPE,
    "clusters": Field(Kind.ARRAY, CLUSTER, available=_OLD_API),
    "target": Field(Kind.OBJECT, TARGET, required=_V1, available=_NEW_SHAPE),
    "mirrors": Field(Kind.ARRAY, MIRROR, required=ALWAYS),
    "rack": Field(Kind.OBJECT, _RACK, available=Availability(since=StrimziVersion(0, 29))),
    "metricsConfig": Field(Kind.OBJECT, _METRICS, available=Availability(since=StrimziVersion(0, 21))),
    "tracing": Field(
        Kind.OBJECT,
        {"type": Field(Kind.STRING, values=_TRACING, required=ALWAYS)},
        available=Availability(since=StrimziVersion(0, 19)),
    ),
}
