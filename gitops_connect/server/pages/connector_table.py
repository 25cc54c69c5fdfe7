"""The list of connectors with its filter. The filter is a form, so that it works without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gitops_connect.model.status import ConnectorStatus, Health
from gitops_connect.report.page import shown
from gitops_connect.server.pages.parts import NONE, badge, connector_link, empty, mark, table, time
from gitops_connect.server.queries import HEALTH_STATES, SYNC_STATES, ConnectorFilter

_HEADERS = ("Connector", "Cluster", "Sync", "Health", "State and tasks", "Since", "Message")
_LONGEST = 390
"""Characters of a message in the list; the page of the connector has all of it."""


def filter_form(chosen: ConnectorFilter, clusters: Sequence[str], path: str = "/") -> str:
    """The filter. On the page of one cluster, `clusters` is empty."""
    selects = [
        _select("sync", "Sync", SYNC_STATES, chosen.sync),
        _select("health", "Health", HEALTH_STATES, chosen.health),
    ]
    if len(clusters) > 1:
        selects.insert(0, _select("cluster", "Cluster", clusters, chosen.cluster))
    checked = " checked" if chosen.attention else ""
    is_empty = chosen.is_empty or (not clusters and replace(chosen, cluster="").is_empty)
    clear = "" if is_empty else f'<a class="clear" href="{path}">Clear</a>'
    return (
        f'<form class="filter" id="filter" method="get" action="{path}" role="search" aria-label="Filter connectors">'
        '<label class="grow"><span class="silent">Search</span><input type="search" name="search" id="search"'
        f' value="{shown(chosen.search)}" placeholder="Search name, state or message" autocomplete="off"'
        ' spellcheck="false" aria-keyshortcuts="/"></label>'
        f"{''.join(selects)}"
        f'<label class="check"><input type="checkbox" name="attention" value="1"{checked}> Needs attention</label>'
        f'<button type="submit">Filter</button>{clear}</form>'
    )


def _select(name: str, title: str, options: Sequence[str], chosen: str) -> str:
    items = "".join(
        f'<option value="{shown(one)}"{" selected" if one == chosen else ""}>{shown(one)}</option>' for one in options
    )
    return (
        f'<label><span class="silent">{title}</span><select name="{name}"><option value="">{title}: all</option>'
        f"{items}</select></label>"
    )


def connector_table(chosen: Sequence[ConnectorStatus], total: int, *, with_cluster: bool = True) -> str:
    """The connectors; those that need attention come first."""
    if not total:
        return empty("No connector is declared, and none is on the clusters.")
    if not chosen:
        return empty("No connector matches the filter.")
    ordered = sorted(chosen, key=lambda one: (one.is_fine, one.health is not Health.DEGRADED, one.cluster, one.name))
    headers = _HEADERS if with_cluster else (_HEADERS[0], *_HEADERS[2:])
    rows = (_cells(one, with_cluster=with_cluster) for one in ordered)
    return table("Connectors", headers, rows, keys=[f"c/{one.cluster}/{one.name}" for one in ordered])


def _cells(one: ConnectorStatus, *, with_cluster: bool) -> tuple[str, ...]:
    message = one.message if len(one.message) <= _LONGEST else f"{one.message[:_LONGEST]}…"
    return (
        connector_link(one.cluster, one.name),
        *((shown(one.cluster),) if with_cluster else ()),
        f"{badge(one.sync)} {mark('suspended', 'soft', 'pause') if one.suspension else ''}".rstrip(),
        badge(one.health),
        f'{shown(one.state)} <span class="soft">{shown(one.tasks)}</span>' if one.tasks != "-" else NONE,
        time(one.since),
        f'<div class="clamp">{shown(message)}</div>' if message else "",
    )


def count_words(chosen: int, total: int) -> str:
    """How many connectors are listed."""
    return f"{total:,} connectors" if chosen == total else f"{chosen:,} of {total:,} connectors"
