"""gitops-connect in this process, as in the daemon: clients, a repository, and caches of the last reconciliation."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import Event

from benchmarks.documents import Workplace
from gitops_connect.apply.step_context import StoppedConnectors
from gitops_connect.cli.main import GC_THRESHOLDS
from gitops_connect.declare import Caches, Declared, declare
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ReconciliationOutcome
from gitops_connect.propose import Proposal, propose
from gitops_connect.reconcile import ReconcileOptions, reconcile
from gitops_connect.runtime import Runtime, open_runtime
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.source.checkout import Source
from gitops_connect.source.repository import Repository

LOCAL = ClusterName("local")


@dataclass
class Opened:
    """Plans and reconciles, repeatedly."""

    runtime: Runtime
    source: Source
    memory: Caches = field(default_factory=Caches)
    declared: Declared | None = None

    def plan(self) -> Proposal:
        """Read the repository, observe the cluster, and plan."""
        return propose(self.runtime, declare(self.source, [LOCAL], self.memory), LOCAL)

    def cycle(self) -> ReconciliationOutcome:
        """Plan and apply."""
        options = ReconcileOptions(_ignore, _ignore, _ignore, Event(), _ignore, StoppedConnectors())
        self.declared = declare(self.source, [LOCAL], self.memory, self.declared)
        return reconcile(self.runtime, self.declared, LOCAL, options)


def _ignore(_: object) -> None:
    """Nothing listens, and every plan is approved."""


@contextmanager
def opened(workplace: Workplace) -> Iterator[Opened]:
    """The product with a clone in the directory of the workplace."""
    gc.set_threshold(*GC_THRESHOLDS)
    settings = load_settings(workplace.settings, {})
    source = Repository(settings.repository, workplace.directory / "clone")
    with closing(open_runtime(settings)) as runtime, closing(source):
        yield Opened(runtime, source)
