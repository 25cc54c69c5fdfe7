"""The placeholders of Strimzi for Secrets and config providers, and those of other workers instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitops_connect.model.strimzi import StrimziVersion
from gitops_connect.strimzi.connector_document import ConnectorSpec
from gitops_connect.strimzi.resources import Problems

# Replaces Strimzi's placeholders for config providers by those of other workers.
#
# Strimzi configures the providers `strimzienv`, `strimzidir`, `strimzifile` and `strimzisecrets` only in the workers
# that it deploys. Any other worker passes their placeholders to the connector as text.

RULE = "strimzi/placeholder"

_PLACEHOLDER = re.compile(r"\$\{([^${}]*)\}")
_OF_STRIMZI = re.compile(r"strimzi(?:env|dir|file|secrets):|file:/tmp/strimzi-[^:]*:")
"""The beginning of a placeholder of Strimzi. Before 0.46, it was a file that only containers of Strimzi have."""


def substitute(text: str, mapping: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The text with replaced placeholders, and the placeholders of Strimzi that the mapping does not have.

    A key of the mapping is the beginning of a placeholder as written after `${`, its value replaces that beginning:
    `strimzienv:` -> `env:`. The longest key that fits counts. Other placeholders only change if a key fits.
    """
    missing = []

    def replacement(found: re.Match[str]) -> str:
        content = found[1]
        beginning = max((key for key in mapping if content.startswith(key)), key=len, default=None)
        if beginning is not None:
            return f"${{{mapping[beginning]}{content[len(beginning) :]}}}"
        if _OF_STRIMZI.match(content):
            missing.append(found[0])
        return found[0]

    return _PLACEHOLDER.sub(replacement, text), tuple(missing)


def substitute_config(connector: ConnectorSpec, mapping: Mapping[str, str], problems: Problems) -> ConnectorSpec:
    """The connector with replaced placeholders in its config, and an error for each one that is not mapped."""
    config: dict[str, Any] = dict(connector.config)
    for key, value in config.items():
        if not isinstance(value, str):
            continue
        config[key], missing = substitute(value, mapping)
        for placeholder in missing:
            beginning = _OF_STRIMZI.match(placeholder, len("${"))
            summary = f"{key} has the placeholder {placeholder}, which only workers of Strimzi can resolve"
            hint = f'map "{beginning[0] if beginning else placeholder}" in [strimzi.placeholders] of the settings'
            hint += ", or set workers = true in [strimzi] if Strimzi deploys the workers"
            problems.error(RULE, connector.places.get(key, (*connector.pointer, "config", key)), summary, hint)
    return replace(connector, config=config)


# How Strimzi's operator refers to Secrets in the config of MirrorMaker connectors.
#
# Source: `KafkaMirrorMaker2Connectors.addClusterToMirrorMaker2ConnectorConfig` in 0.17 to 1.2. The config providers in
# these placeholders are configured in the workers that Strimzi deploys.

DIRECTORIES = StrimziVersion(0, 46)
"""Placeholders of the providers `strimzidir`, `strimzienv` and `strimzifile`, instead of `file`."""
SECRETS = StrimziVersion(1, 1)
"""Placeholders of the provider `strimzisecrets`, and certificates as PEM instead of PKCS12 files."""

_FILE = "/tmp/strimzi-mirrormaker2-connector.properties"  # noqa: S108 - a path in the containers of Strimzi
_STORES = "/tmp/kafka/clusters"  # noqa: S108 - a path in the containers of Strimzi
_FROM_ENVIRONMENT = "${strimzienv:MIRRORMAKER_2_CERTS_STORE_PASSWORD}"

_WRITTEN_BY = {
    "0.45 or older": re.compile(r"\$\{file:/tmp/strimzi-(?:mirrormaker2-connector|connect)\.properties:"),
    "0.46 to 1.0": re.compile(r"\$\{strimzi(?:dir:/opt/kafka/mm2-|env:MIRRORMAKER_2_)"),
    "1.1 or newer": re.compile(r"\$\{strimzisecrets:"),
}
"""The placeholders that only operators of these versions write."""


def operator_versions(values: Iterable[str]) -> frozenset[str]:
    """The versions of the operator that write such placeholders, such as `0.46 to 1.0`."""
    texts = tuple(values)
    return frozenset(name for name, pattern in _WRITTEN_BY.items() if any(pattern.search(text) for text in texts))


@dataclass(frozen=True, slots=True)
class SecretPlaceholders:
    """The placeholders of one resource. `alias` is always that of a Kafka cluster."""

    version: StrimziVersion
    namespace: str
    resource: str

    def password(self, alias: str, secret: Mapping[str, str]) -> str:
        """The password of the types plain and scram."""
        return self._value(f"/opt/kafka/mm2-password/{alias}", f"{alias}.sasl.password", secret, secret["password"])

    def oauth(self, alias: str, option: str, secret: Mapping[str, str]) -> str:
        """A secret option of the type oauth."""
        key = secret["password"] if "password" in secret else secret["key"]
        return self._value(f"/opt/kafka/mm2-oauth/{alias}", f"{alias}.{option}", secret, key)

    def trust_store(self, alias: str) -> dict[str, str]:
        """The config keys, without prefix, for the trusted certificates."""
        if self.version >= SECRETS:
            certificates = self._secret(f"{self.resource}-connect-tls-trusted-certs", f"{alias}-ca.crt")
            return {"ssl.truststore.certificates": certificates, "ssl.truststore.type": "PEM"}
        return self._store(alias, "truststore")

    def key_store(self, alias: str, secret: Mapping[str, str]) -> dict[str, str]:
        """The config keys, without prefix, for the certificate and key of the type tls."""
        if self.version >= SECRETS:
            return {
                "ssl.keystore.certificate.chain": self._secret(secret["secretName"], secret["certificate"]),
                "ssl.keystore.key": self._secret(secret["secretName"], secret["key"]),
                "ssl.keystore.type": "PEM",
            }
        return self._store(alias, "keystore")

    def oauth_trust_store(self, alias: str) -> dict[str, str]:
        """The options of JAAS for the trusted certificates of the type oauth."""
        return {
            "oauth.ssl.truststore.location": f"{_STORES}/{alias}-oauth.truststore.p12",
            "oauth.ssl.truststore.password": self._store_password("oauth.ssl.truststore.password"),
            "oauth.ssl.truststore.type": "PKCS12",
        }

    def _value(self, directory: str, name: str, secret: Mapping[str, str], key: str) -> str:
        if self.version >= SECRETS:
            return self._secret(secret["secretName"], key)
        if self.version >= DIRECTORIES:
            return f"${{strimzidir:{directory}/{secret['secretName']}:{key}}}"
        return f"${{file:{_FILE}:{name}}}"

    def _secret(self, name: str, key: str) -> str:
        return f"${{strimzisecrets:{self.namespace}/{name}:{key}}}"

    def _store(self, alias: str, store: str) -> dict[str, str]:
        return {
            f"ssl.{store}.type": "PKCS12",
            f"ssl.{store}.location": f"{_STORES}/{alias}.{store}.p12",
            f"ssl.{store}.password": self._store_password(f"ssl.{store}.password"),
        }

    def _store_password(self, name: str) -> str:
        return _FROM_ENVIRONMENT if self.version >= DIRECTORIES else f"${{file:{_FILE}:{name}}}"
