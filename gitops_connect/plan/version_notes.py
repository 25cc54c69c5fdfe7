"""Notes about the version of a connector's plugin: which one is declared, which one runs, and which are installed."""

from __future__ import annotations

from collections.abc import Iterable

from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.plans import Step
from gitops_connect.model.validation import installed_versions
from gitops_connect.plan.situation import Situation

_VERSION = "connector.plugin.version"


def version_notes(situation: Situation, desired: DesiredConnector, steps: Iterable[Step]) -> tuple[str, ...]:
    """A note if a config is sent, and it chooses a version or several are installed."""
    class_name, declared = desired.config.get("connector.class", ""), desired.config.get(_VERSION)
    installed = installed_versions(situation.plugins, class_name)
    if not installed or not any(step.config for step in steps):
        return ()
    listed = ", ".join(installed)
    if declared is None:
        choice = f"several versions of {class_name} are installed ({listed}), and Connect uses the newest"
        return (f"{choice}; choose one with spec.version",) if len(installed) > 1 else ()
    observed = situation.observed.connectors.get(desired.name)
    running = f", running: {observed.version}" if observed is not None and observed.version else ""
    return (f"version of the plugin: declared: {declared}, installed: {listed}{running}",)
