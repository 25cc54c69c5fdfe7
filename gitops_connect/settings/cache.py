"""Where this user's cache is."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """What can be lost without loss is kept here, for this user."""
    cache = os.environ.get("GITOPS_CONNECT_CACHE")
    return Path(cache) if cache else user_cache_path("gitops-connect")
