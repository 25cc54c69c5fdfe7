"""A credential is named in the settings and read at each use, so that a rotated file needs no restart."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from gitops_connect.errors import UsageError
from gitops_connect.safe_files import open_regular

_LONGEST = 64 * 1024
"""Bytes. A certificate chain or a JSON key has a few KiB; `/dev/zero` has no end."""
_USUAL_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Credential:
    """The name of an environment variable, the path of a file, or the value itself (never shown).

    `setting` names the settings file and the key that has it, as in `gitops-connect.toml: [state] key`; it is only used
    in errors.
    """

    env: str | None = None
    file: Path | None = None
    value: str | None = field(default=None, repr=False)
    setting: str = field(default="", compare=False)

    def read(self) -> str:
        """The secret, without the line end that editors add. Raises UsageError with the setting if it is missing."""
        try:
            return self._read()
        except UsageError as error:
            raise UsageError(f"{self.setting}: {error}" if self.setting else str(error)) from error

    def _read(self) -> str:
        if self.env is not None:
            if self.env not in os.environ:
                raise UsageError(f"{_variable(self.env)} is not set")
            return os.environ[self.env]
        return self.value or "" if self.file is None else _read(self.file)


def _variable(name: str) -> str:
    """The variable's name if it is a usual one: an unusual name may be the secret itself, written there by mistake."""
    return f"the environment variable {name}" if _USUAL_NAME.fullmatch(name) else "an environment variable"


def _read(file: Path) -> str:
    try:
        with open_regular(file) as stream:
            content = stream.read(_LONGEST + 1)
        secret = content.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        # Python's own message quotes a byte of the secret.
        raise UsageError(f"the credential file {file} contains no UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read the credential file {file}: {error.strerror}") from error
    if len(content) > _LONGEST or "\0" in secret:
        raise UsageError(
            f"the credential file {file} is not valid: expected at most {_LONGEST // 1024} KiB, and no NUL character"
        )
    return secret
