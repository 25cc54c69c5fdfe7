"""The config keys that `authentication` of a mirror's cluster becomes.

Source: `KafkaMirrorMaker2Connectors.addClusterToMirrorMaker2ConnectorConfig` and `AuthenticationUtils` of Strimzi.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.desired.strimzi.resource import Layer, PlacedValue, Problems, Section, layer
from gitops_connect.desired.strimzi.resource_schema import IGNORED, INVALID, path
from gitops_connect.desired.strimzi.secret_placeholders import SecretPlaceholders

_PLAIN = ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule")
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_USER_AND_PASSWORD: Mapping[str, tuple[str, str]] = {
    "plain": _PLAIN,
    "scram-sha-256": ("SCRAM-SHA-256", _SCRAM),
    "scram-sha-512": ("SCRAM-SHA-512", _SCRAM),
}
_OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OAUTH_HANDLER = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"

_CUSTOM_PREFIXES = ("ssl.keystore.", "sasl.")

_OAUTH_TEXTS: Mapping[str, str] = {
    "clientId": "oauth.client.id",
    "username": "oauth.password.grant.username",
    "tokenEndpointUri": "oauth.token.endpoint.uri",
    "grantType": "oauth.client.credentials.grant.type",
    "scope": "oauth.scope",
    "audience": "oauth.audience",
}
_OAUTH_POSITIVE_NUMBERS: Mapping[str, str] = {
    "maxTokenExpirySeconds": "oauth.max.token.expiry.seconds",
    "connectTimeoutSeconds": "oauth.connect.timeout.seconds",
    "readTimeoutSeconds": "oauth.read.timeout.seconds",
    "httpRetries": "oauth.http.retries",
    "httpRetryPauseMs": "oauth.http.retry.pause.millis",
}
_OAUTH_LOCATIONS: Mapping[str, str] = {
    "accessTokenLocation": "oauth.access.token.location",
    "clientAssertionLocation": "oauth.client.assertion.location",
    "clientAssertionType": "oauth.client.assertion.type",
}
_OAUTH_SECRETS: Mapping[str, str] = {
    "clientSecret": "oauth.client.secret",
    "accessToken": "oauth.access.token",
    "refreshToken": "oauth.refresh.token",
    "passwordSecret": "oauth.password.grant.password",
    "clientAssertion": "oauth.client.assertion",
}
_OAUTH_SWITCHES: Mapping[str, tuple[bool, str, str]] = {
    "disableTlsHostnameVerification": (True, "oauth.ssl.endpoint.identification.algorithm", ""),
    "accessTokenIsJwt": (False, "oauth.access.token.is.jwt", "false"),
    "enableMetrics": (True, "oauth.enable.metrics", "true"),
    "includeAcceptHeader": (False, "oauth.include.accept.header", "false"),
}
"""The value that makes a difference, and the option that it sets."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """Config keys without the cluster's prefix, and whether the security protocol is one with SASL."""

    keys: Layer
    sasl: bool = False


def read_authentication(cluster: Section, secrets: SecretPlaceholders, problems: Problems) -> Authentication:
    """The keys of the authentication of a cluster, which may have none."""
    section = cluster.section("authentication")
    if section is None:
        return Authentication({})
    alias, kind = cluster.get("alias"), section.get("type")
    if kind == "tls":
        return _tls(alias, section, secrets, problems)
    if kind == "oauth":
        return _oauth(alias, section, secrets)
    if kind == "custom":
        return Authentication(_custom(section, problems), sasl=bool(section.get("sasl")))
    return _user_and_password(alias, section, secrets, problems)


def _tls(alias: str, section: Section, secrets: SecretPlaceholders, problems: Problems) -> Authentication:
    certificate = section.section("certificateAndKey")
    if certificate is None:
        problems.error(INVALID, section.pointer, f"{path(section.at('certificateAndKey'))} is required for type tls")
        return Authentication({})
    return Authentication(layer(secrets.key_store(alias, certificate.value), certificate.pointer))


def _user_and_password(alias: str, section: Section, secrets: SecretPlaceholders, problems: Problems) -> Authentication:
    kind = section.get("type")
    missing = [key for key in ("username", "passwordSecret") if section.get(key) is None]
    for key in missing:
        problems.error(INVALID, section.pointer, f"{path(section.at(key))} is required for type {kind}")
    if missing:
        return Authentication({})
    mechanism, module = _USER_AND_PASSWORD[kind]
    options = {
        "username": section.get("username"),
        "password": secrets.password(alias, section.get("passwordSecret")),
    }
    keys = {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas_config(module, options)}
    return Authentication(layer(keys, section.pointer), sasl=True)


def _oauth(alias: str, section: Section, secrets: SecretPlaceholders) -> Authentication:
    keys = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas_config(_OAUTH_MODULE, dict(_oauth_options(alias, section, secrets))),
        "sasl.login.callback.handler.class": _OAUTH_HANDLER,
    }
    return Authentication(layer(keys, section.pointer), sasl=True)


def _oauth_options(alias: str, section: Section, secrets: SecretPlaceholders) -> Iterator[tuple[str, Any]]:
    value = section.value
    yield from ((option, value[name]) for name, option in _OAUTH_TEXTS.items() if name in value)
    for name, (effective, option, text) in _OAUTH_SWITCHES.items():
        if value.get(name) is effective:
            yield option, text
    yield from ((option, value[name]) for name, option in _OAUTH_POSITIVE_NUMBERS.items() if value.get(name, 0) > 0)
    yield from ((option, value[name]) for name, option in _OAUTH_LOCATIONS.items() if name in value)
    yield from ((f"oauth.sasl.extension.{key}", one) for key, one in value.get("saslExtensions", {}).items())
    for name, option in _OAUTH_SECRETS.items():
        if name in value:
            yield option, secrets.oauth(alias, option, value[name])
    if value.get("tlsTrustedCertificates"):
        yield from secrets.oauth_trust_store(alias).items()


def _custom(section: Section, problems: Problems) -> Layer:
    config = section.section("config")
    keys: dict[str, PlacedValue] = {}
    for key, value in config.value.items() if config is not None else ():
        place = (*section.at("config"), key)
        if key.lower().startswith(_CUSTOM_PREFIXES):
            keys[key] = PlacedValue(value, place)
            continue
        summary = f"{path(place)} is ignored: only keys that begin with {' or '.join(_CUSTOM_PREFIXES)} are used"
        problems.warning(IGNORED, place, summary, "move the key to the config of the cluster")
    return keys


def jaas_config(module: str, options: Mapping[str, Any]) -> str:
    """A line for `sasl.jaas.config`, with the options in this order. Like Strimzi, it does not escape values."""
    written = " ".join(f'{key}="{value}"' for key, value in options.items())
    return f"{module} required {written};"
