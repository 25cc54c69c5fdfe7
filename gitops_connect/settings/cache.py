"""The directory of this user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

from gitops_connect.errors import UsageError
from gitops_connect.file_modes import make_private


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
