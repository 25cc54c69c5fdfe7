"""What git is told besides its arguments: nothing of the user's or the system's configuration, no hooks, no questions.

Credentials go this way too, because an environment is readable only by its own user, while arguments are readable by
everybody and configuration files stay. git asks a helper for them when a server wants any; ours prints what the
environment holds, and is set for one scheme, host and port, so that a redirect to another gets nothing.
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
"""For a server that wants a token and takes any user name."""

_QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Empty, not unset: unset, git would ask the programs that core.askPass and SSH_ASKPASS name.
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    # Reading must never turn into fetching, one request for each file; what is missing is fetched at once, on purpose.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_SAFE = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    # Housekeeping in the foreground, under the lock and the deadline, and no process left behind.
    "gc.autoDetach": "false",
    "maintenance.autoDetach": "false",
    "credential.helper": "",
    # Within the limit of memory: no more of a pack is mapped at once, each thread has room, large blobs are streamed.
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "256m",
    "core.bigFileThreshold": "64m",
    "pack.threads": "4",
}


def local_environment(folder: Path) -> dict[str, str]:
    """For work on the clone in `folder` alone: every way out is closed."""
    return {**_QUIET, "GIT_DIR": str(folder), "GIT_ALLOW_PROTOCOL": "", **_configuration(_SAFE)}


def remote_environment(folder: Path, address: Address, settings: RepositorySettings) -> dict[str, str]:
    """For work with the server, which git knows as `origin`; reads the credentials.

    Raises UsageError where a credential or a file of the settings is not there.
    """
    configuration = {**_SAFE, "remote.origin.url": address.url}
    environment = {**_QUIET, "GIT_DIR": str(folder), "GIT_ALLOW_PROTOCOL": _allowed(address.transport)}
    match address.transport:
        case GitTransport.HTTP | GitTransport.HTTPS:
            # For ~/.netrc: no server is lent a password that was not meant for it.
            environment["HOME"] = "/dev/null"
            # A git whose parent was killed ends by itself when the server has gone silent.
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
    """The password of the settings, else that of the URL. Raises UsageError where it cannot be one line."""
    secret = settings.password.read() if settings.password else address.password
    if secret is not None and ("\n" in secret or "\0" in secret):
        raise UsageError("[repository] password contains a line break, expected one line")
    return secret


def _allowed(transport: GitTransport) -> str:
    """The way that the settings name, and from HTTP a redirect to HTTPS, which gets no credentials."""
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
    """ssh_config(5) expands %h and its like in the names of files."""
    return str(file.absolute()).replace("%", "%%")


def _existing(file: Path, setting: str) -> Path:
    if not file.is_file():
        raise UsageError(f"[repository] {setting}: the file {file} does not exist")
    return file
