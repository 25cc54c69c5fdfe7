"""`gitops-connect explain`: kinds and their fields, rules, errors, exit codes, settings, and why a connector is so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect.cli.cluster_commands import Planned, default_directory, opened, plan_clusters, told_directory
from gitops_connect.cli.clusters import chosen_in, worst
from gitops_connect.cli.completion import complete_connectors, complete_words
from gitops_connect.cli.console import echo, echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.explained_words import known_words
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput, Untrusted, in_format, is_untrusted
from gitops_connect.cli.plan import connector_statuses
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.report.connector_explanation import ExplainedConnector, next_steps
from gitops_connect.report.table import outline
from gitops_connect.runtime import Runtime, open_runtime
from gitops_connect.settings.sections import Settings

_MOST_FOUND = 20
_CLUSTER = re.compile(r"^clusters\.[^.]+")


def explain(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A kind, a field (Connector.spec.state), a rule, an error, a hold, an exit code or a setting.",
            autocompletion=complete_words,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="The connector, after the word connector.", autocompletion=complete_connectors
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", metavar="DIR", help="Read this directory instead of the configured repository."),
    ] = None,
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
    untrusted: Untrusted = None,
) -> int:
    """Explain a field, a rule, an error, a setting, or a connector.

    `explain connector NAME` shows what Git says, what is live, what differs, what blocks it, what happens next, and
    since when. Nothing is changed on the cluster.
    """
    if name is None or what not in ("connector", "connectors"):
        return _explain_word(what if name is None else f"{what} {name}")
    with opened(context) as runtime:
        directory, clusters = told_directory(runtime.settings, directory), chosen_in(runtime.settings, cluster)
        planned = plan_clusters(runtime, directory, clusters, untrusted=is_untrusted(untrusted))
        found = [*_explained(runtime, planned, ConnectorName(name))]
    if not found and not planned.failures:
        situations = [one.situation for one in planned.made]
        known = {one for each in situations for one in (*each.desired.by_name, *each.observed.connectors)}
        echo(f"error: there is no connector {name!r} on {', '.join(clusters)}{did_you_mean(name, known)}")
        return ExitCode.FAILED
    values = [one.value() for one in found]
    emit(in_format(output, values, lambda: "\n".join(map(_text, found))))
    return worst(planned.failures)


def _text(one: ExplainedConnector) -> str:
    plan = one.plan_lines()
    return outline(one.value()) + (f"\nIts part of the plan:\n{plan}" if plan else "")


def _explained(runtime: Runtime, planned: Planned, name: ConnectorName) -> Iterator[ExplainedConnector]:
    """What is known of the connector, on each cluster that has or declares it."""
    directory, repository = planned.directory, runtime.settings.repository
    documents = planned.declared.diagnostics.under(directory)
    daemon = f"when the daemon reconciles: after a commit, and every {repository.interval:g}s; without a daemon: "
    for proposal in planned.made:
        situation = proposal.situation
        statuses = connector_statuses(runtime, proposal, find_unhealthy(situation), documents, directory)
        problems = (*documents.errors, *proposal.diagnostics.under(directory).errors)
        for status in (one for one in statuses if one.name == name):
            yield ExplainedConnector(
                status,
                proposal.plan,
                situation.desired,
                situation.ownership.get(name),
                [one for (of, _, _), one in situation.conditions.items() if of == name],
                [one for one in problems if one.connector == name],
                f"{daemon if repository.url else ''}gitops-connect apply",
                directory,
            )


def tell_next(settings: Settings, name: ConnectorName, clusters: Sequence[ClusterName]) -> None:
    """Say what the next reconciliation does with the connector, and what in its document keeps it from running."""
    if not settings.repository.url and default_directory(settings) is None:
        echo_note("no repository is configured; `gitops-connect plan DIR` shows what is done next")
        return
    with closing(open_runtime(settings)) as runtime:
        planned = plan_clusters(runtime, default_directory(settings), clusters, untrusted=is_untrusted(None))
        found = [*_explained(runtime, planned, name)]
    for one in found:
        echo(f"Next on {one.status.cluster}: {'; '.join(next_steps(one.planned))}")
        if advice := one.state_advice():
            echo_note(advice)
        echo(f"Details: {command_line('explain connector', name, '--cluster', one.status.cluster)}")


def _explain_word(what: str) -> ExitCode:
    """Print what the word means; of a part of a name, all names with that part. Case does not count."""
    word, known = _CLUSTER.sub("clusters.name", what.lower().replace("] ", ".").strip("[]` ")), known_words()
    ends = tuple(f"{mark}{word}" for mark in "./ ") if word else ()
    found = [one for one in known if one.lower() == word] or [one for one in known if one.lower().endswith(ends)]
    contain = [one for one in known if word and word in one.lower() and one not in found]
    if len(found) == 1:
        emit(known[found[0]]())
        return ExitCode.DONE
    if not (found or contain):
        echo(f"error: nothing is called {what!r}{did_you_mean(what, known)}; see docs/index.md")
        return ExitCode.FAILED
    every = [*found, *contain]
    more = f"and {len(every) - _MOST_FOUND} more\n" if len(every) > _MOST_FOUND else ""
    emit("".join(f"{one}\n" for one in every[:_MOST_FOUND]) + more)
    echo(f"error: {len(every)} names contain {what!r}; explain one of them")
    return ExitCode.FAILED
