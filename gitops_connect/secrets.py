"""The values behind `spec.secrets`: read from where the operator keeps them, and only from where the settings allow.

Whoever can write to the repository could otherwise have any file or variable of this process sent to a connector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from gitops_connect.model.desired import DesiredConnector, DesiredState, SecretReference, SecretSource
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.settings.sections import SecretsSettings

OWN_PREFIX = "GITOPS_CONNECT_"
_LARGEST_FILE = 1024 * 1024


class SecretMissing(Exception):
    """A reference that cannot be followed; the text says why and what to do, and holds no value."""


def resolve(
    desired: DesiredState, settings: SecretsSettings, environment: Mapping[str, str]
) -> tuple[DesiredState, Diagnostics]:
    """Put every secret's value into its connector's config. A connector whose secret is missing is held."""
    resolved, diagnostics = [], []
    for connector in desired.connectors:
        problems, config = _config(connector, settings, environment)
        diagnostics.extend(problems)
        if not problems:
            resolved.append(replace(connector, config=config))
    held = desired.held | {problem.connector for problem in diagnostics if problem.connector}
    return replace(desired, connectors=tuple(resolved), held=held), Diagnostics.of(diagnostics)


def _config(
    connector: DesiredConnector, settings: SecretsSettings, environment: Mapping[str, str]
) -> tuple[list[Diagnostic], Mapping[str, str]]:
    if not connector.secrets:
        return [], connector.config
    problems, config = [], dict(connector.config)
    for key, reference in connector.secrets.items():
        try:
            config[key] = _read(reference, settings, environment)
        except SecretMissing as missing:
            where = connector.locate(("spec", "secrets", key))
            problems.append(
                Diagnostic(Severity.ERROR, "secret/missing", f"{key}: {missing}", where, connector=connector.name)
            )
    return problems, config


def _read(reference: SecretReference, settings: SecretsSettings, environment: Mapping[str, str]) -> str:
    if reference.source is SecretSource.ENV:
        return _from_environment(reference.name, settings, environment)
    return _from_file(Path(reference.name), settings)


def _from_environment(name: str, settings: SecretsSettings, environment: Mapping[str, str]) -> str:
    if name.startswith(OWN_PREFIX):
        raise SecretMissing(f"the variable {name} is one of gitops-connect's own, and never sent to a connector")
    if not any(fnmatchcase(name, pattern) for pattern in settings.env):
        raise SecretMissing(f'the settings do not allow the variable {name}; allow it with [secrets] env = ["{name}"]')
    if name not in environment:
        raise SecretMissing(f"the environment variable {name} is not set")
    return environment[name]


def _from_file(path: Path, settings: SecretsSettings) -> str:
    """The file's text without its last line end. Links are followed before the folder is checked."""
    if not path.is_absolute():
        raise SecretMissing(f"{path} is not an absolute path")
    real = path.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in settings.files):
        raise SecretMissing(
            f'the settings do not allow the file {path}; allow it with [secrets] files = ["{path.parent}"]'
        )
    try:
        if real.stat().st_size > _LARGEST_FILE:
            raise SecretMissing(f"the file {path} is larger than 1 MiB, which no secret is")
        return real.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise SecretMissing(f"cannot read the file {path}: {error}") from error
