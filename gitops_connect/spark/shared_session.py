"""The one Spark session of this process: started at the first use, kept while it is used, closed when it is idle.

Importing this imports nothing of Spark, and takes almost no time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.errors import SparkFailed, UsageError
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.master_url import shared_folder

if TYPE_CHECKING:
    from gitops_connect.spark.session import Session

Say = Callable[[str], None]


def _start(settings: SparkSettings, environment: Mapping[str, str], say: Say, cache: Path) -> Session:
    try:
        from gitops_connect.spark import session  # noqa: PLC0415 - nothing of Spark before the first use

        return session.start_at(settings, environment, say, cache)
    except ModuleNotFoundError as error:
        raise UsageError(f"Spark needs the package {error.name}: pip install 'gitops-connect[spark]'") from error


@dataclass(slots=True)
class SharedSession:
    """Several threads may use the session at once. `cache` is the user's cache directory, `clock` counts seconds."""

    settings: SparkSettings
    environment: Mapping[str, str] = field(repr=False)
    cache: Path
    clock: Callable[[], float] = time.monotonic
    start: Callable[[SparkSettings, Mapping[str, str], Say, Path], Session] = _start
    _session: Session | None = field(default=None, init=False)
    _users: int = field(default=0, init=False)
    _is_doubtful: bool = field(default=False, init=False)
    _last_used: float = field(default=0.0, init=False)
    _changed: threading.Condition = field(default_factory=threading.Condition, init=False)

    @property
    def folder(self) -> Path:
        """The directory for staged manifests and patches."""
        return self.settings.directory or self.cache / "spark"

    @contextmanager
    def using(self, say: Say) -> Iterator[Session]:
        """The session, which stays open during the block; `say` gets a message if it must be started first.

        A session on which something failed is not used again: the next use starts another. Raises what `start_at`
        raises.
        """
        shared_folder(self.settings, self.cache)
        session = self._taken(say)
        has_failed = False
        try:
            yield session
        except SparkFailed:
            has_failed = True
            raise
        finally:
            self._leave(is_doubtful=has_failed)

    def give_back_if_idle(self, now: float) -> None:
        """End the session if it was not used for the idle time of the settings. `now` is by `clock`.

        This does not wait: if the session is being used or started, there is nothing to do.
        """
        if not self._changed.acquire(blocking=False):
            return
        try:
            if not self._users and now - self._last_used >= self.settings.idle:
                self._end()
        finally:
            self._changed.release()

    def close(self) -> None:
        """Leave the session once no thread uses it any more: this process ends."""
        with self._changed:
            self._changed.wait_for(lambda: not self._users)
            session, self._session = self._session, None
            if session is not None:
                session.leave()

    def _taken(self, say: Say) -> Session:
        with self._changed:
            self._changed.wait_for(lambda: not (self._is_doubtful and self._users))
            if self._session is not None and (self._is_doubtful or not (self._users or self._session.answers())):
                self._end()
            if self._session is None:
                self._session = self.start(self.settings, self.environment, say, self.cache)
            self._users += 1
            return self._session

    def _leave(self, *, is_doubtful: bool) -> None:
        with self._changed:
            self._users -= 1
            self._is_doubtful |= is_doubtful
            self._last_used = self.clock()
            if self._is_doubtful and not self._users:
                self._end()
            self._changed.notify_all()

    def _end(self) -> None:
        session, self._session, self._is_doubtful = self._session, None, False
        if session is not None:
            session.close()
