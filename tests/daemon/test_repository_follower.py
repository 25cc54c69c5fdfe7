"""What the daemon shows of a repository that was never read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitops_connect.daemon.repository_follower import RepositoryFollower
from gitops_connect.daemon.state import RepositoryView
from gitops_connect.errors import SourceUnavailable
from gitops_connect.settings.sections import Settings

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Unreachable:
    last_good = None

    def fetch(self) -> Any:
        raise SourceUnavailable("nobody answers")

    def close(self) -> None:
        """Nothing is open."""


def test_the_error_and_the_time_of_the_poll_are_shown_and_the_error_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    follower = RepositoryFollower(Unreachable(), Settings(Path()))
    for _ in range(2):
        assert follower.poll(None) is None
        assert follower.view(None, NOON) == RepositoryView(error="SourceUnavailable: nobody answers", polled=NOON)
    assert [one.getMessage() for one in caplog.records] == ["repository_unreachable"]
