"""The engine on Spark: `make check` neither imports what it needs nor starts a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collecting a test imports it."""
    skips = "not slow" in config.option.markexpr and collection_path.suffix == ".py"
    return True if skips else None
