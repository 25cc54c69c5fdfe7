"""Settings that were read again while the daemon runs: which take effect at once, and which need a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from logging import INFO, WARNING
from typing import Any

from gitops_connect.connect.client import ConnectClient
from gitops_connect.daemon import events
from gitops_connect.errors import UsageError
from gitops_connect.runtime import Runtime
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import require_clusters

_PLACE = ("directory", "file")
"""Where the settings are. These are no settings."""


def reload(runtime: Runtime, load: Callable[[], Settings]) -> Runtime | None:
    """The runtime with the settings that can change now. None, with an event in the log, if they have an error.

    A reconciliation in progress continues with the runtime that it has, and with its clients. A client whose settings
    changed is replaced; it closes its connections when nothing uses it any more (urllib3).
    """
    try:
        read = load()
        require_clusters(read)
        settings = in_effect(runtime.settings, read)
        reloaded = replace(runtime, settings=settings, clients=_clients(runtime, settings))
    except UsageError as error:
        events.say_error("settings_rejected", error)
        return None
    except Exception as error:  # a bug: the earlier settings remain in effect
        events.bug(error)
        return None
    events.say(INFO, "settings_reloaded", changed=list(differences(runtime.settings, settings)))
    if needed := list(differences(settings, read)):
        events.say(WARNING, "settings_need_restart", settings=needed)
    return reloaded


def in_effect(current: Settings, read: Settings) -> Settings:
    """The settings that were read, as far as they can change without a restart; else the current ones."""
    return replace(
        current,
        clusters={
            name: replace(read.clusters.get(name, cluster), strimzi=cluster.strimzi)
            for name, cluster in current.clusters.items()
        },
        secrets=read.secrets,
        repository=replace(current.repository, interval=read.repository.interval),
        daemon=replace(read.daemon, log_format=current.daemon.log_format),
    )


def differences(one: Settings, other: Settings) -> Iterator[str]:
    """The names of the settings that differ, without their values, which may be secrets."""
    for section in fields(Settings):
        before, after = getattr(one, section.name), getattr(other, section.name)
        if section.name in _PLACE:
            continue
        if section.name != "clusters":
            yield from _fields(section.name, before, after)
            continue
        for name in sorted(before.keys() | after.keys()):
            if name in before and name in after:
                yield from _fields(f"clusters.{name}", before[name], after[name])
            else:
                yield f"[clusters.{name}]"


def _fields(section: str, one: Any, other: Any) -> Iterator[str]:
    return (f"[{section}] {each.name}" for each in fields(one) if getattr(one, each.name) != getattr(other, each.name))


def _clients(runtime: Runtime, settings: Settings) -> dict[Any, ConnectClient]:
    clients = dict(runtime.clients)
    for name, cluster in settings.clusters.items():
        if cluster != runtime.cluster(name):
            earlier, clients[name] = clients[name], ConnectClient(cluster, runtime.clock)
            clients[name].conceal(earlier.concealed)
    return clients
