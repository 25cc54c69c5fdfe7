"""Reads the values of `spec.secrets`, only from places that the settings allow.

Otherwise, anyone who can write to the repository could have any file or variable of this process sent to a connector.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import assert_never

from gitops_connect.model.desired import DesiredConnector, DesiredState, SecretReference, SecretSource, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity, contained
from gitops_connect.model.names import ConnectorName
from gitops_connect.safe_files import read_text
from gitops_connect.settings.own import is_protected, own_files, own_variables
from gitops_connect.settings.sections import Settings

OWN_PREFIX = "GITOPS_CONNECT_"
_LARGEST_FILE = 1024 * 1024
_values_read: set[str] = set()


def values_read() -> frozenset[str]:
    """Every value that this process has read: no log line or bug report may contain one, wherever the text comes from.

    This is state of the process, because a bug is reported after the state of the work is lost.
    """
    return frozenset(_values_read)


class SecretMissing(Exception):
    """A reference that cannot be read; the text says why and what to do, and contains no value."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The desired state with every secret's value in its connector's config.

    `unresolved` are connectors with a missing secret: their config is incomplete. `values` are all secrets that
    documents of the cluster name and that could be read, including those of invalid documents: no message about any
    connector may show them.
    """

    desired: DesiredState
    unresolved: frozenset[ConnectorName]
    diagnostics: Diagnostics
    values: frozenset[str] = field(default=frozenset(), repr=False)


def resolve(desired: DesiredState, settings: Settings, environment: Mapping[str, str]) -> Resolved:
    """Put every secret's value into its connector's config, and name the connectors that lack a secret.

    Values that gitops-connect itself uses (credentials, keys, the ledger) are never read, whatever `[secrets]` allows.
    """
    connectors, diagnostics, values = [], [], set()
    for connector in desired.connectors:
        read_config = partial(_config, connector, settings, environment)
        found = contained(read_config, connector.document.location, connector.name)
        problems, config = ([found], connector.config) if isinstance(found, Diagnostic) else found
        diagnostics.extend(problems)
        connectors.append(connector if config is connector.config else replace(connector, config=config))
        values |= {config[key] for key in connector.secrets if key in config}
    unresolved = frozenset(problem.connector for problem in diagnostics if problem.connector)
    for reference in _only_masked(desired):
        with suppress(SecretMissing):  # it needs no diagnostic: no connector depends on it
            values.add(read(reference, settings, environment))
    whole = replace(desired, connectors=tuple(connectors))
    return Resolved(whole, unresolved, Diagnostics.of(diagnostics), frozenset(values))


def check_references(desired: DesiredState, settings: Settings) -> Resolved:
    """Check the references of an unmerged revision as far as their names allow, and read nothing.

    Not even whether a variable or a file exists is looked up. `values` are those read for merged documents before.
    """
    problems = [
        _missing(connector, key, missing)
        for connector in desired.connectors
        if connector.state is not TargetState.ABSENT
        for key, reference in connector.secrets.items()
        if (missing := _why_never(reference, settings))
    ]
    unresolved = frozenset(problem.connector for problem in problems if problem.connector)
    return Resolved(desired, unresolved, Diagnostics.of(problems), values_read())


def _why_never(reference: SecretReference, settings: Settings) -> str:
    """Why the reference can never be read with these settings, whatever it refers to; empty if nothing shows that."""
    name = reference.name
    match reference.source:
        case SecretSource.FILE:
            return "" if Path(name).is_absolute() else f"{name} is not an absolute path"
        case SecretSource.ENV if name.startswith(OWN_PREFIX) or name in own_variables(settings):
            return f"the environment variable {name} belongs to gitops-connect, and is never sent to a connector"
        case SecretSource.ENV if not any(fnmatchcase(name, pattern) for pattern in settings.secrets.env):
            allow = f'allow it with [secrets] env = ["{name}"]'
            return f"the settings do not allow the environment variable {name}; {allow}"
        case SecretSource.ENV:
            return ""
        case _:
            assert_never(reference.source)


def _only_masked(desired: DesiredState) -> set[SecretReference]:
    """References whose values are sent to no connector: the document is invalid, or the connector is to be deleted."""
    held = {reference for pairs in desired.held_secrets.values() for _, reference in pairs}
    absent = (one for one in desired.connectors if one.state is TargetState.ABSENT)
    return held.union(*(one.secrets.values() for one in absent))


def _config(
    connector: DesiredConnector, settings: Settings, environment: Mapping[str, str]
) -> tuple[list[Diagnostic], Mapping[str, str]]:
    if not connector.secrets or connector.state is TargetState.ABSENT:
        return [], connector.config  # a connector that is to be deleted needs no secret
    problems, config = [], dict(connector.config)
    for key, reference in connector.secrets.items():
        try:
            config[key] = read(reference, settings, environment)
        except SecretMissing as missing:
            problems.append(_missing(connector, key, str(missing)))
    return problems, config


def _missing(connector: DesiredConnector, key: str, why: str) -> Diagnostic:
    where = connector.locate(("spec", "secrets", key))
    return Diagnostic(Severity.ERROR, "secret/missing", f"{key}: {why}", where, connector=connector.name)


def read(reference: SecretReference, settings: Settings, environment: Mapping[str, str]) -> str:
    """The value of one reference. Raises SecretMissing."""
    if why := _why_never(reference, settings):
        raise SecretMissing(why)
    match reference.source:
        case SecretSource.ENV if reference.name not in environment:
            raise SecretMissing(f"the environment variable {reference.name} is not set")
        case SecretSource.ENV:
            value = environment[reference.name]
        case SecretSource.FILE:
            value = _from_file(Path(reference.name), settings)
        case _:
            assert_never(reference.source)
    _values_read.add(value)
    return value


def _from_file(path: Path, settings: Settings) -> str:
    """The content of the file without its last line end. Links are followed before the directory is checked."""
    try:
        real = path.resolve()
        if not any(real.is_relative_to(directory.resolve()) for directory in settings.secrets.files):
            raise SecretMissing(_not_allowed(path, real))
        _require_file(path, real)
        if is_protected(real, own_files(settings)):
            owner = "belongs to gitops-connect or to the system"
            raise SecretMissing(f"the file {path} {owner}, and is never sent to a connector")
        return read_text(real).removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise SecretMissing(f"the file {path} is not UTF-8") from error
    except OSError as error:
        raise SecretMissing(f"cannot read the file {path}: {error.strerror}") from error
    except (RuntimeError, ValueError) as error:  # a loop of links (until Python 3.12), or a NUL in the name
        raise SecretMissing(f"{str(path)!r} is not a valid path") from error


def _not_allowed(path: Path, real: Path) -> str:
    if real != path:  # authors of documents must not learn where it leads
        return f"the settings do not allow the file {path}: it leads out of the directories of [secrets] files"
    return f'the settings do not allow the file {path}; allow it with [secrets] files = ["{path.parent}"]'


def _require_file(path: Path, real: Path) -> None:
    """Raise SecretMissing for a pipe or a device, which could block the reader without end, and for a large file."""
    found = real.stat()
    if not stat.S_ISREG(found.st_mode):
        raise SecretMissing(f"{path} is not a file")
    if found.st_size > _LARGEST_FILE:
        raise SecretMissing(f"the file {path} is larger than 1 MiB, the limit for a secret")
