"""The config keys that one Kafka cluster of a mirror becomes, in the connectors of that mirror.

Source: `KafkaMirrorMaker2Connectors.addClusterToMirrorMaker2ConnectorConfig` of Strimzi.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.desired.strimzi.mirror_authentication import read_authentication
from gitops_connect.desired.strimzi.mirror_maker_fields import TARGET
from gitops_connect.desired.strimzi.mirrors import MirrorCluster
from gitops_connect.desired.strimzi.resource import Layer, PlacedValue, Problems, Section, layer, written
from gitops_connect.desired.strimzi.resource_schema import INVALID, path
from gitops_connect.desired.strimzi.secret_placeholders import SecretPlaceholders
from gitops_connect.model.documents import Pointer
from gitops_connect.model.strimzi import StrimziVersion

PLAINTEXT_WRITTEN = StrimziVersion(0, 40)
"""From this version on, `security.protocol` is also written without TLS and SASL."""


def cluster_keys(cluster: MirrorCluster, prefix: str, secrets: SecretPlaceholders, problems: Problems) -> Layer:
    """The keys of a cluster. `prefix` is `source.cluster.` or `target.cluster.`."""
    section = cluster.section
    keys = {
        "alias": PlacedValue(cluster.alias, section.at("alias")),
        "bootstrap.servers": PlacedValue(section.get("bootstrapServers"), section.at("bootstrapServers")),
        **_security(section, secrets, problems),
    }
    config = section.section("config")
    return {
        **{f"{prefix}{key}": one for key, one in keys.items()},
        **(written(config, prefix, without=cluster.worker_keys) if config is not None else {}),
        **written(section, without=TARGET),
    }


def _security(section: Section, secrets: SecretPlaceholders, problems: Problems) -> Layer:
    authentication = read_authentication(section, secrets, problems)
    tls = section.section("tls")
    keys = {**_trust_store(section, tls, secrets, problems), **authentication.keys}
    protocol, place = _protocol(section, sasl=authentication.sasl)
    if protocol != "PLAINTEXT" or secrets.version >= PLAINTEXT_WRITTEN:
        keys["security.protocol"] = PlacedValue(protocol, place)
    return keys


def _protocol(section: Section, *, sasl: bool) -> tuple[str, Pointer]:
    transport = "PLAINTEXT" if section.get("tls") is None else "SSL"
    if sasl:
        return f"SASL_{transport}", section.at("authentication")
    return transport, section.at("tls") if transport == "SSL" else section.pointer


def _trust_store(
    section: Section, tls: Section | None, secrets: SecretPlaceholders, problems: Problems
) -> dict[str, PlacedValue]:
    certificates = tls.sections("trustedCertificates") if tls is not None else ()
    for message, place in _without_file(certificates):
        problems.error(INVALID, place, message)
    if tls is None or not certificates:
        return {}
    return layer(secrets.trust_store(section.get("alias")), tls.at("trustedCertificates"))


def _without_file(certificates: tuple[Section, ...]) -> Iterator[tuple[str, Pointer]]:
    for one in certificates:
        if len({"certificate", "pattern"} & one.value.keys()) != 1:
            yield f"{path(one.pointer)} must have either certificate or pattern", one.pointer
