"""The command lines of gitops-connect in messages, which people copy into a shell."""

from __future__ import annotations

import shlex


def command_line(command: str, name: str, *options: str) -> str:
    """The line that runs `gitops-connect COMMAND NAME OPTIONS`. No shell reads a part of a name as anything else.

    A name that begins with a dash would be read as an option: it comes last, after `--`.
    """
    words = [*options, "--", name] if name.startswith("-") else [name, *options]
    return shlex.join(["gitops-connect", *command.split(), *words])
