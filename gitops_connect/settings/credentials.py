"""A credential is named in the settings and read when it is used, so that a rotated file needs no restart."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from gitops_connect.errors import UsageError


@dataclass(frozen=True, slots=True)
class Credential:
    """The name of an environment variable, the path of a file, or the value itself (never shown)."""

    env: str | None = None
    file: Path | None = None
    value: str | None = field(default=None, repr=False)

    def read(self) -> str:
        """The secret, without the line end that editors add. Raises UsageError where it is not there."""
        if self.env is not None:
            if self.env not in os.environ:
                raise UsageError(f"the environment variable {self.env} is not set, and the settings name it")
            return os.environ[self.env]
        if self.file is not None:
            try:
                return self.file.read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"cannot read the credential file {self.file}: {error}") from error
        return self.value or ""
