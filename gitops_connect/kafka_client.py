"""A Kafka cluster that the settings name: its ACLs, and the producers of exactly-once sources.

This module needs the extra `kafka`: `runtime.open_runtime` checks that before. No message of librdkafka contains the
password, and none goes to stderr.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from gitops_connect.errors import GitopsConnectError, KafkaRefused, KafkaUnavailable, UsageError
from gitops_connect.model.masking import mask
from gitops_connect.model.required_acls import AclPattern, AclResource, LiveAcl
from gitops_connect.settings.sections import KafkaSettings, SaslMechanism, SecurityProtocol, is_http_url

_AT_ONCE = 8
"""Fencing an id mostly waits: librdkafka asks for the coordinator twice a second."""
_LONGEST_REASON = 300
_RESOURCES = {
    ResourceType.TOPIC: AclResource.TOPIC,
    ResourceType.GROUP: AclResource.GROUP,
    ResourceType.TRANSACTIONAL_ID: AclResource.TRANSACTIONAL_ID,
    ResourceType.BROKER: None,
}
"""`BROKER` is librdkafka's name for the resource of the whole Kafka cluster."""
_PATTERNS = {ResourcePatternType.LITERAL: AclPattern.LITERAL, ResourcePatternType.PREFIXED: AclPattern.PREFIXED}
_EVERY_ACL = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Hosts that may get a client secret without TLS."""
_NEEDS_WRITE = "its principal needs Write on this transactional id"
_NEEDS_DESCRIBE = "its principal needs Describe on the Kafka cluster"
_NO_ACLS = "the brokers returned none: they have no authorizer (authorizer.class.name), or no ACL was ever added"


def read_acls(settings: KafkaSettings, where: str) -> list[LiveAcl]:
    """All ACLs of the Kafka cluster, with one request. `where` names the settings in errors.

    Raises KafkaRefused, KafkaUnavailable or UsageError.
    """
    with Kafka(settings, where).failures("its ACLs could not be read") as kafka:
        client = AdminClient(kafka.config)
        try:
            found = client.describe_acls(_EVERY_ACL, request_timeout=float(settings.timeout)).result()
            if not found:  # librdkafka 2.16 drops the errors SECURITY_DISABLED and CLUSTER_AUTHORIZATION_FAILED
                asked = client.describe_cluster(
                    include_authorized_operations=True, request_timeout=float(settings.timeout)
                )
                may_describe = AclOperation.DESCRIBE in (asked.result().authorized_operations or ())
                why = _NO_ACLS if may_describe else _NEEDS_DESCRIBE
                raise KafkaRefused(f"{where}: its ACLs could not be read: {why}")
        finally:
            client.poll(0)  # reports the errors of connections
    return [acl for one in found if (acl := _live(one)) is not None]


def fence(settings: KafkaSettings, where: str, transactional_ids: Sequence[str]) -> None:
    """Fence all producers that have these transactional ids, as `Admin.fenceProducers` of Kafka does.

    A new producer raises the epoch of its id, and ends a transaction in progress: an older one can write nothing more.
    Doing so twice does no harm. Raises KafkaRefused, KafkaUnavailable or UsageError for the first that fails.
    """
    kafka = Kafka(settings, where)
    until = time.monotonic() + settings.timeout
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fence") as pool:
        for _ in pool.map(lambda one: kafka.fence(one, until), transactional_ids):
            pass


class Kafka:
    """The configuration of clients, and the last error that a connection has reported."""

    def __init__(self, settings: KafkaSettings, where: str) -> None:
        self._where = where
        self._password = settings.password.read() if settings.password else ""
        self.last_error = ""
        self.config = _config(settings, self._password, where) | {"error_cb": self._note, "log_level": 0}

    def _note(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - a public constant of the library
            self.last_error = error.str()

    def fence(self, transactional_id: str, until: float) -> None:
        with self.failures(f"the transactional id {transactional_id} could not be fenced"):
            # It begins no transaction. Brokers may limit the timeout, and this is the shortest that librdkafka accepts.
            producer = Producer(self.config | {"transactional.id": transactional_id, "transaction.timeout.ms": 1000})
            try:
                producer.init_transactions(max(0.0, until - time.monotonic()))
            finally:
                producer.poll(0)  # reports the errors of connections

    @contextmanager
    def failures(self, what: str) -> Iterator[Kafka]:
        """Raise errors of the library as our own."""
        try:
            yield self
        except KafkaException as failed:
            error = failed.args[0]
            raise self.error(what, error) from None

    def error(self, what: str, error: KafkaError) -> GitopsConnectError:
        """An error of the library as our own."""
        if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return KafkaRefused(f"{self._where}: {what}: {_NEEDS_WRITE}")
        reason = self.reason(error)
        if error.code() == KafkaError._INVALID_ARG:  # noqa: SLF001 - a public constant of the library
            return UsageError(f"{self._where}: {reason}")
        kind = KafkaUnavailable if error.retriable() or error.code() < 0 else KafkaRefused
        return kind(f"{self._where}: {what}: {reason}")

    def reason(self, error: KafkaError) -> str:
        """What the library or the broker says, and why connections have failed if no broker has answered."""
        reasons = (error.str(), self.last_error if error.code() < 0 else "")
        return mask("; ".join(filter(None, reasons)), {self._password} - {""})[:_LONGEST_REASON]


def _config(settings: KafkaSettings, password: str, where: str) -> dict[str, Any]:
    """The properties of librdkafka. Raises UsageError if the settings contradict each other."""
    if not any(settings.bootstrap_servers):
        raise UsageError(f"{where}: bootstrap_servers is empty")
    protocol, mechanism = settings.security_protocol, settings.sasl_mechanism
    config: dict[str, Any] = {
        "bootstrap.servers": ",".join(settings.bootstrap_servers),
        "client.id": "gitops-connect",
        "security.protocol": protocol.value,
    }
    if protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL):
        if not settings.username or not password:
            raise UsageError(f"{where}: security_protocol is {protocol.value}, but username or password is not set")
        config |= {"sasl.mechanism": mechanism.value, **_login(settings, password, where)}
    if settings.client_key is not None and settings.client_certificate is None:
        raise UsageError(f"{where}: client_key is set, but client_certificate is not")
    files = {
        "ssl.ca.location": settings.ca_file,
        "ssl.certificate.location": settings.client_certificate,
        "ssl.key.location": settings.client_key or settings.client_certificate,
    }
    for name, file in files.items():
        if file is not None:
            if not file.is_file():
                raise UsageError(f"{where}: {name}: the file {file} does not exist")
            config[name] = str(file)
    return config


def _login(settings: KafkaSettings, password: str, where: str) -> dict[str, Any]:
    """The properties of librdkafka that say who logs in."""
    if settings.sasl_mechanism is not SaslMechanism.OAUTHBEARER:
        return {"sasl.username": settings.username, "sasl.password": password}
    if not settings.token_url:
        raise UsageError(f"{where}: sasl_mechanism is OAUTHBEARER, but token_url is not set")
    url = urlsplit(settings.token_url) if is_http_url(settings.token_url) else None
    if url is None or (url.scheme != "https" and url.hostname not in _THIS_MACHINE):
        raise UsageError(f"{where}: token_url: expected a URL that begins with https://")
    oauth = {
        "method": "oidc",
        "client.id": settings.username,
        "client.secret": password,
        "token.endpoint.url": settings.token_url,
        **({"scope": settings.scope} if settings.scope else {}),
    }
    return {f"sasl.oauthbearer.{key}": value for key, value in oauth.items()}


def _live(binding: AclBinding) -> LiveAcl | None:
    """The ACL, if it can matter to a worker or a connector."""
    kind, pattern = binding.restype, _PATTERNS.get(binding.resource_pattern_type)
    if kind not in _RESOURCES or pattern is None:
        return None
    operation = binding.operation.name.title().replace("_", "")
    allowed = binding.permission_type is AclPermissionType.ALLOW
    return LiveAcl(binding.principal, _RESOURCES[kind], pattern, binding.name, operation, binding.host, allowed)
