"""The repository as the daemon sees it: if it cannot be read, the last good revision remains in effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from logging import INFO, WARNING

from gitops_connect.daemon import events
from gitops_connect.daemon.state import RepositoryView
from gitops_connect.declare import Caches, Declared, DeclareOptions, declare
from gitops_connect.errors import GitopsConnectError
from gitops_connect.settings.sections import Settings
from gitops_connect.source.checkout import Checkout, Source


class RepositoryFollower:
    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._clusters = settings.clusters
        self._options = DeclareOptions.of(settings)
        self._caches = Caches()
        self._news = events.NewItems()
        self._diagnostics = events.NewItems()
        self.failures = 0
        self.error: Exception | None = None

    def poll(self, before: Declared | None) -> Declared | None:
        """The declared state from now on; None if the repository was never read. Raises nothing."""
        try:
            declared = declare(self._source, self._clusters, self._caches, before, self._options)
        except Exception as error:  # after any error, the revision that was read before remains in effect
            self.failures, self.error = self.failures + 1, error
            kept = before or self._last_good()
            self._tell_of_failure(error, kept)
        else:
            if self.failures:
                events.say(INFO, "repository_recovered", revision=declared.revision)
            self._news.of(())
            self.failures, self.error, kept = 0, None, declared
        self._tell_of_revision(kept, before)
        return kept

    def view(self, declared: Declared | None, now: datetime) -> RepositoryView:
        """The repository after a poll that ended at `now` and returned `declared`."""
        why = "" if self.error is None else f"{type(self.error).__name__}: {self.error}"
        if declared is None:
            return RepositoryView(error=why, polled=now)
        author, subject = declared.checkout.author, declared.checkout.subject
        return RepositoryView(declared.revision, author, subject, declared.documents, declared.diagnostics, why, now)

    def _last_good(self) -> Declared | None:
        """The revision that an earlier process has read, if all of its content is on this machine."""
        try:
            checkout = self._source.last_good
            pinned = _PinnedSource(checkout) if checkout else None
            return declare(pinned, self._clusters, self._caches, options=self._options) if pinned else None
        except Exception:  # after any error; the error of the poll itself is more informative
            return None

    def _tell_of_revision(self, declared: Declared | None, before: Declared | None) -> None:
        if declared is None or (before is not None and before.revision == declared.revision):
            return
        revision, earlier = declared.revision, before.revision if before else None
        counts = {"documents": declared.documents, "errors": len(declared.diagnostics.errors)}
        events.say(INFO, "revision_changed", revision=revision, before=earlier, **counts)
        if declared.rewritten:
            events.say(WARNING, "history_rewritten", revision=revision, before=declared.rewritten)
        for diagnostic in self._diagnostics.of(declared.diagnostics):
            events.diagnosed(diagnostic, None)

    def _tell_of_failure(self, error: Exception, enforced: Declared | None) -> None:
        """Log each reason once, and not at every poll."""
        if not self._news.of([events.cause(error)]):
            return
        if isinstance(error, GitopsConnectError):
            events.say_error("repository_unreachable", error, enforced=enforced.revision if enforced else None)
        else:
            events.bug(error)


@dataclass(frozen=True, slots=True)
class _PinnedSource:
    """A `Source` that stays at one revision."""

    last_good: Checkout

    def fetch(self) -> Checkout:
        return self.last_good

    def close(self) -> None:
        """There is nothing to close."""
