"""What a shell completes: clusters of the settings, and connectors of the ledger. Both are read without any request."""

from __future__ import annotations

import re

import typer

from gitops_connect.cli.clusters import settings_of
from gitops_connect.errors import GitopsConnectError
from gitops_connect.ledger.managed_names import managed_names
from gitops_connect.settings.own import ledger_file

_WORD = re.compile(r"[\w.@%+=:,-]+", re.ASCII)
"""Names that a shell reads as one word. Others are not offered: the shell could run what is in them."""


def complete_clusters(context: typer.Context, incomplete: str) -> list[str]:
    """The clusters of the settings; none if the settings cannot be read."""
    try:
        return _words([one for one in settings_of(context).clusters if one.startswith(incomplete)])
    except GitopsConnectError:
        return []


def complete_connectors(context: typer.Context, incomplete: str) -> list[str]:
    """The managed connectors, if the ledger is a file: the password of a database server is a secret."""
    try:
        settings = settings_of(context)
    except GitopsConnectError:
        return []
    named = context.params.get("cluster") or ()
    clusters = [named] if isinstance(named, str) else list(named) or list(settings.clusters)
    file = ledger_file(settings)
    return _words(managed_names(file, clusters, incomplete)) if file is not None and clusters else []


def complete_words(incomplete: str) -> list[str]:
    """What `explain` explains."""
    from gitops_connect.cli.explained_words import known_words  # noqa: PLC0415 - only `explain` needs them

    return [one for one in known_words() if one.startswith(incomplete)]


def _words(names: list[str]) -> list[str]:
    return [one for one in names if _WORD.fullmatch(one)]
