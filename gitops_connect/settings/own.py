"""The variables and files of the settings themselves, which no document may name as a secret."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from platformdirs import user_cache_path

from gitops_connect.errors import UsageError
from gitops_connect.safe_files import make_private
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import SecretsSettings, Settings

_PUBLIC = frozenset({"ca_file", "client_certificate", "directory", "known_hosts"})
"""Fields with paths of files that are not secret: a connector may need the same certificates."""
_OF_THE_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))
"""`/proc/self/environ` contains every variable of this process."""
_BESIDE_THE_LEDGER = ("", ".key", "-journal", "-wal", "-shm")
"""Suffixes of the files that `ledger.schema` and SQLite store next to the database."""


def own_variables(settings: Settings) -> frozenset[str]:
    """The environment variables that hold a credential of the settings."""
    return frozenset(one.env for one in credentials_in(settings) if one.env is not None)


def credentials_in(*sections: object) -> Iterator[Credential]:
    """The credentials in sections of the settings, or in parts of them."""
    return (one for one in _values(sections) if isinstance(one, Credential))


def own_files(settings: Settings) -> frozenset[Path]:
    """The files of credentials and private keys, the ledger with its key, and the settings file."""
    named = (one.file if isinstance(one, Credential) else one for one in _values(settings))
    return frozenset(one for one in (*named, *_ledger(settings), settings.file) if one is not None)


def is_protected(real: Path, own: Iterable[Path]) -> bool:
    """Whether no document may name this file, whatever the settings allow: it is one of `own`, or of the system.

    `real` has no links. A hard link is another name for the same file.
    """
    return any(map(real.is_relative_to, _OF_THE_SYSTEM)) or any(one.exists() and one.samefile(real) for one in own)


def ledger_file(settings: Settings) -> Path | None:
    """The SQLite file of the ledger; None for another database."""
    parts = urlsplit(settings.state.url)
    is_file = parts.scheme.startswith("sqlite")
    # `Path.expanduser` fails for a user that does not exist; `ledger.database` reports that.
    return settings.directory / os.path.expanduser(parts.path.removeprefix("/")) if is_file else None  # noqa: PTH111


def _ledger(settings: Settings) -> Iterator[Path]:
    if (database := ledger_file(settings)) is not None:
        yield from (database.with_name(database.name + ending) for ending in _BESIDE_THE_LEDGER)


def _values(value: Any) -> Iterator[Any]:
    """Every credential and path in a section, at any depth, except `[secrets]`, which lists what is allowed."""
    if isinstance(value, Credential | Path):
        yield value
    elif is_dataclass(value) and not isinstance(value, SecretsSettings | type):
        for field in fields(value):
            if field.name not in _PUBLIC:
                yield from _values(getattr(value, field.name))
    elif isinstance(value, Mapping | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _values(inner)


# The directory of this user's cache.


def cache_directory() -> Path:
    """The directory of files that can be created again, for this user. `GITOPS_CONNECT_CACHE` overrides it.

    What gitops-connect wrote there becomes private. Raises UsageError if that fails.
    """
    cache = os.environ.get("GITOPS_CONNECT_CACHE")
    directory = Path(cache) if cache else user_cache_path("gitops-connect")
    try:
        # A directory that the user named may have other files, and another owner.
        make_private(*(directory / name for name in ("clones", "spark")) if cache else (directory,))
    except OSError as error:
        raise UsageError(
            f"the cache is not private: {error.strerror}, or set GITOPS_CONNECT_CACHE to another directory"
        ) from error
    return directory
