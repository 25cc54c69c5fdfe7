"""The differences between Kafka releases: the jars to fetch, and the settings that an older worker needs."""

from __future__ import annotations

import re

from gitops_connect.errors import SandboxFailed

BROKER_RELEASE = "4.3.1"
"""The broker's release, for every release of Connect.

A worker of any release since 2.1 works with a 4.x broker (KIP-896). So an older Connect is tested with the one broker
whose settings and start are tested here; and an old broker would not run on the newest Java.
"""
DEFAULT_RELEASE = BROKER_RELEASE

_MODULES = ("kafka_2.13", "connect-runtime", "connect-file", "connect-mirror")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def parse(release: str) -> tuple[int, ...]:
    """`4.3.1` -> (4, 3, 1). Raises SandboxFailed if it is not the number of a release."""
    if not _RELEASE.fullmatch(release):
        raise SandboxFailed(f"expected a Kafka release such as {DEFAULT_RELEASE}, found {release!r}")
    return tuple(int(part) for part in release.split("."))


def dependencies(release: str) -> tuple[tuple[str, str, str], ...]:
    """The modules to fetch: (group, artifact, version). The broker's release also has Kafka's console tools.

    Kafka's modules have no logger binding (the distribution adds one): without it, the log files would stay empty.
    """
    binding = (
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
        if parse(release) >= (4, 0, 0)
        else ("org.slf4j", "slf4j-reload4j", "1.7.36")
    )
    modules = (*_MODULES, "kafka-tools") if release == BROKER_RELEASE else _MODULES
    return (*(("org.apache.kafka", module, release) for module in modules), binding)


def plugin_discovery(release: str) -> str:
    """The fast discovery if every bundled plugin declares itself (KIP-898), otherwise the old one."""
    return "service_load" if parse(release) >= (4, 0, 0) else "only_scan"
