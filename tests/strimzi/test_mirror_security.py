from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.files.mirror_resources import PLAINTEXT, configs, expanded, new_shape, old_shape, resource
from support.files.tables import rows

from gitops_connect.plan.config_diff import parse_jaas

PASSWORD = {"secretName": "s", "password": "f"}
CERTIFICATE = {"secretName": "s", "certificate": "user.crt", "key": "user.key"}
TLS = {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.crt"}]}


def source_keys(source: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The keys of the source cluster, without prefix, that only these fields add."""
    new = version >= "0.49" or version.startswith("1")
    document = resource((new_shape if new else old_shape)(source=source), "v1" if new else "v1beta2")
    config = configs(document, version)["SourceConnector"]
    same = {key for key, value in PLAINTEXT.items() if config.get(key) == value}
    return {key.removeprefix("source.cluster."): value for key, value in config.items() if key not in same}


@pytest.mark.parametrize(("version", "keys"), rows(__file__, "trust_store"))
def test_trust_store(version: str, keys: dict[str, str]) -> None:
    assert source_keys({"tls": TLS}, version) == {"security.protocol": "SSL", **keys}
    for without_certificates in ({}, {"trustedCertificates": []}):
        assert source_keys({"tls": without_certificates}, "1.2") == {"security.protocol": "SSL"}


@pytest.mark.parametrize(("version", "keys"), rows(__file__, "client_certificate"))
def test_client_certificate(version: str, keys: dict[str, str]) -> None:
    authentication = {"type": "tls", "certificateAndKey": CERTIFICATE}
    assert source_keys({"tls": {}, "authentication": authentication}, version) == {"security.protocol": "SSL", **keys}


@pytest.mark.parametrize(("kind", "mechanism", "module"), rows(__file__, "mechanisms"))
@pytest.mark.parametrize(("version", "password"), rows(__file__, "passwords"))
def test_user_and_password(kind: str, mechanism: str, module: str, version: str, password: str) -> None:
    authentication = {"type": kind, "username": "me", "passwordSecret": PASSWORD}
    keys = source_keys({"authentication": authentication}, version)
    keys.pop("consumer.client.rack", None)
    line = f'{module} required username="me" password="{password}";'
    assert keys == {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": line}
    assert source_keys({"authentication": authentication, "tls": {}}, version)["security.protocol"] == "SASL_SSL"


@pytest.mark.parametrize("sasl", [True, False])
def test_custom(*, sasl: bool) -> None:
    config = {"sasl.mechanism": "AWS_MSK_IAM", "SSL.keystore.location": "/k", "ssl.truststore.location": "/t"}
    authentication = {"type": "custom", "sasl": sasl, "config": config}
    expected = {"sasl.mechanism": "AWS_MSK_IAM", "SSL.keystore.location": "/k"}
    assert source_keys({"authentication": authentication}, "1.2") == expected | (
        {"security.protocol": "SASL_PLAINTEXT"} if sasl else {}
    )
    (warning,) = expanded(resource(new_shape(source={"authentication": authentication}))).diagnostics
    assert "authentication.config.ssl.truststore.location is ignored" in warning.summary


@pytest.mark.parametrize(("version", "authentication", "expected"), rows(__file__, "oauth"))
def test_oauth(version: str, authentication: dict[str, Any], expected: dict[str, str]) -> None:
    document = resource(old_shape(source={"authentication": authentication}), "v1beta2")
    config = configs(document, version)["SourceConnector"]
    handler = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
    assert config["source.cluster.sasl.mechanism"] == "OAUTHBEARER"
    assert config["source.cluster.sasl.login.callback.handler.class"] == handler
    assert config["source.cluster.security.protocol"] == "SASL_PLAINTEXT"
    ((module, flag, options),) = parse_jaas(config["source.cluster.sasl.jaas.config"]) or ()
    assert (module.rpartition(".")[2], flag) == ("OAuthBearerLoginModule", "required")
    assert dict(options) == expected
