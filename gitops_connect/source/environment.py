"""The environment of git: without the configuration of the user and the system, without hooks and questions.

Credentials are passed in the environment too. Only its own user can read an environment, while everybody can read
arguments, and configuration files remain on the disk. git runs a helper if a server requires credentials. The helper of
gitops-connect prints them from the environment. It is configured for one scheme, host and port, so that a redirect to
another server gets nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from gitops_connect.errors import UsageError
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.address import Address, GitTransport

_HELPER = (
    "!f() { test \"$1\" = get || exit 0; printf 'username=%s\\npassword=%s\\n'"
    ' "$GITOPS_CONNECT_GIT_USERNAME" "$GITOPS_CONNECT_GIT_PASSWORD"; }; f'
)
_ANY_USER = "git"
"""The user name for a server that requires a token and accepts any user name."""

_QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Empty, not unset: if unset, git would ask the programs that core.askPass and SSH_ASKPASS name.
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    # Reading must never cause a fetch for each file; all missing content is fetched together, on purpose.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_SAFE = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    # Housekeeping in the foreground, under the lock and the deadline, without a process that remains.
    "gc.autoDetach": "false",
    "maintenance.autoDetach": "false",
    "credential.helper": "",
    # For the limit of memory: git maps less of a pack at once, keeps fewer objects, and streams large blobs.
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "64m",
    "core.deltaBaseCacheLimit": "16m",
    "core.bigFileThreshold": "16m",
    "pack.threads": "2",
}


def local_environment(directory: Path) -> dict[str, str]:
    """The environment for commands on the clone alone: git can reach no server."""
    return {**_QUIET, "GIT_DIR": str(directory), "GIT_ALLOW_PROTOCOL": "", **_configuration(_SAFE)}


def remote_environment(directory: Path, address: Address, settings: RepositorySettings) -> dict[str, str]:
    """The environment for commands that reach the server, which git knows as `origin`; reads the credentials.

    Raises UsageError if a credential or a file of the settings is missing.
    """
    configuration = {**_SAFE, "remote.origin.url": address.url}
    environment = {**_QUIET, "GIT_DIR": str(directory), "GIT_ALLOW_PROTOCOL": _allowed(address.transport)}
    match address.transport:
        case GitTransport.HTTP | GitTransport.HTTPS:
            # For ~/.netrc: its passwords must not be sent to this server.
            environment["HOME"] = "/dev/null"
            # A git whose parent was killed ends by itself if the server stops sending.
            configuration |= {"http.lowSpeedLimit": "1", "http.lowSpeedTime": str(max(1, int(settings.timeout)))}
            if settings.ca_file is not None:
                environment["GIT_SSL_CAINFO"] = str(_existing(settings.ca_file, "ca_file"))
            secret = read_password(address, settings)
            if secret is not None:
                username = settings.username or address.username or _ANY_USER
                environment |= {"GITOPS_CONNECT_GIT_USERNAME": username, "GITOPS_CONNECT_GIT_PASSWORD": secret}
                configuration[f"credential.{address.origin}.helper"] = _HELPER
        case GitTransport.SSH:
            environment |= {"GIT_SSH_COMMAND": _ssh(settings), "GIT_SSH_VARIANT": "ssh"}
        case GitTransport.GIT | GitTransport.FILE:
            pass
    return environment | _configuration(configuration)


def read_password(address: Address, settings: RepositorySettings) -> str | None:
    """The password of the settings, else that of the URL. Raises UsageError if it is not one line."""
    secret = settings.password.read() if settings.password else address.password
    if secret is not None and ("\n" in secret or "\0" in secret):
        raise UsageError("[repository] password contains a line break, expected one line")
    return secret


def _allowed(transport: GitTransport) -> str:
    """The configured protocol, and from HTTP a redirect to HTTPS, which gets no credentials."""
    return "http:https" if transport is GitTransport.HTTP else transport.value


def _configuration(values: Mapping[str, str]) -> dict[str, str]:
    """Configuration for one command, by environment (git-config(1), GIT_CONFIG_COUNT)."""
    environment = {"GIT_CONFIG_COUNT": str(len(values))}
    for number, (key, value) in enumerate(values.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _ssh(settings: RepositorySettings) -> str:
    seconds = max(1, int(settings.timeout))
    words = ["ssh", "-oBatchMode=yes", "-oStrictHostKeyChecking=yes", f"-oConnectTimeout={seconds}"]
    words += [f"-oServerAliveInterval={seconds}", "-oServerAliveCountMax=1"]
    if settings.ssh_key is not None:
        words += ["-i", _for_ssh(_existing(settings.ssh_key, "ssh_key")), "-oIdentitiesOnly=yes"]
    if settings.known_hosts is not None:
        file = _for_ssh(_existing(settings.known_hosts, "known_hosts"))
        words += [f'-oUserKnownHostsFile="{file}"', "-oGlobalKnownHostsFile=/dev/null"]
    return shlex.join(words)


def _for_ssh(file: Path) -> str:
    """ssh_config(5) expands %h and similar tokens in file names."""
    return str(file.absolute()).replace("%", "%%")


def _existing(file: Path, setting: str) -> Path:
    if not file.is_file():
        raise UsageError(f"[repository] {setting}: the file {file} does not exist")
    return file
