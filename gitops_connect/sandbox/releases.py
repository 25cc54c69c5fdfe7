"""What differs between Kafka releases, in one place: the jars to fetch, and the settings that an older worker needs."""

from __future__ import annotations

import re

from gitops_connect.errors import SandboxFailed

BROKER_RELEASE = "4.3.1"
"""The broker's release, whichever Connect is asked for.

A worker of any release since 2.1 speaks to a 4.x broker (KIP-896), so an older Connect is tried against the one broker
whose settings and start-up are tested here; and an old broker would not run on the newest Java.
"""
DEFAULT_RELEASE = BROKER_RELEASE

_MODULES = ("kafka_2.13", "connect-runtime", "connect-file", "connect-mirror")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def parse(release: str) -> tuple[int, ...]:
    """`4.3.1` -> (4, 3, 1). Raises SandboxFailed where it is not a release's number."""
    if not _RELEASE.fullmatch(release):
        raise SandboxFailed(f"expected a Kafka release such as {DEFAULT_RELEASE}, found {release!r}")
    return tuple(int(part) for part in release.split("."))


def dependencies(release: str) -> tuple[tuple[str, str, str], ...]:
    """What to ask Maven for: (group, artifact, version). The broker's release also has Kafka's console tools.

    Kafka's modules bind no logger (the distribution adds one): without a binding the log files would stay empty.
    """
    binding = (
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
        if parse(release) >= (4, 0, 0)
        else ("org.slf4j", "slf4j-reload4j", "1.7.36")
    )
    modules = (*_MODULES, "kafka-tools") if release == BROKER_RELEASE else _MODULES
    return (*(("org.apache.kafka", module, release) for module in modules), binding)


def plugin_discovery(release: str) -> str:
    """The fast way where every plugin that comes with it declares itself (KIP-898), the old way before."""
    return "service_load" if parse(release) >= (4, 0, 0) else "only_scan"
