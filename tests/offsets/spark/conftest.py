"""The engine on Spark: `make check` neither imports its libraries nor starts a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pytest imports a test module when it collects it."""
    skips = "not slow" in config.option.markexpr and collection_path.suffix == ".py"
    return True if skips else None


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session that all tests share."""
    from gitops_connect.settings.sections import SparkSettings  # noqa: PLC0415 - only for tests that start Spark
    from gitops_connect.spark.session import start_session  # noqa: PLC0415 - only for tests that start Spark

    session = start_session(SparkSettings("local[2]"), os.environ, lambda _: None, None)
    yield session
    session.close()
