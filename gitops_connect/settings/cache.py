"""The directory of this user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_directory() -> Path:
    """The directory of files that can be created again, for this user. `GITOPS_CONNECT_CACHE` overrides it."""
    cache = os.environ.get("GITOPS_CONNECT_CACHE")
    return Path(cache) if cache else user_cache_path("gitops-connect")
