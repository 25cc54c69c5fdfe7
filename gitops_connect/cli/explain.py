"""`gitops-connect explain`: kinds and their fields, rules, errors, exit codes, settings, and why a connector is so."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect import errors
from gitops_connect.checks.document_schemas import read_schema
from gitops_connect.checks.schema_fields import FieldExplanation, field_at, field_paths
from gitops_connect.cli.cluster_commands import (
    Planned,
    default_directory,
    directory_of,
    opened,
    plan_clusters,
    tell_directory,
)
from gitops_connect.cli.clusters import chosen_in, worst
from gitops_connect.cli.completion import complete_connectors
from gitops_connect.cli.console import echo, echo_note, emit
from gitops_connect.cli.exit_codes import EXIT_CODES, ExitCode, exit_code
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput, Untrusted, in_format, is_untrusted
from gitops_connect.cli.plan import connector_statuses
from gitops_connect.cli.setting_docs import TABLES, SettingDoc, described_settings, section_meaning
from gitops_connect.errors import GitopsConnectError, Waiting
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.plans import ConnectorPlan
from gitops_connect.model.revisions import origin
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.offsets.rules.rules import RULES
from gitops_connect.plan.precedence import PASSES, Intent
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.propose import Proposal
from gitops_connect.report.code_scanning import RuleExplanation, rule_explanations
from gitops_connect.report.connector_explanation import ExplainedConnector, next_steps, state_advice
from gitops_connect.report.table import outline
from gitops_connect.runtime import Runtime, open_runtime
from gitops_connect.settings.sections import Settings

_WIDTH = 100
_PAGES = {"Connector": "connector", "OffsetChange": "offset-change"}
_SCHEMAS = ("connector", "offset-change")
_MOST_FOUND = 20
_CLUSTER = re.compile(r"^clusters\.[^.]+")


def explain(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A kind, a field (Connector.spec.state), a rule, an error, a hold, an exit code or a setting.",
            autocompletion=lambda incomplete: [one for one in _words() if one.startswith(incomplete)],
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
        directory, clusters = directory_of(runtime.settings, directory), chosen_in(runtime.settings, cluster)
        tell_directory(directory)
        planned = plan_clusters(runtime, directory, clusters, untrusted=is_untrusted(untrusted))
        every = [_explained(runtime, planned, one) for one in planned.made]
    found = [one for each in every for one in each if one.status.name == name]
    if not found and not planned.failures:
        known = {one.status.name for each in every for one in each}
        echo(f"error: there is no connector {name!r} on {', '.join(clusters)}{did_you_mean(name, known)}")
        return ExitCode.FAILED
    values = [one.value() for one in found]
    emit(in_format(output, values, lambda: "\n".join(map(_text, found))))
    return worst(planned.failures)


def _text(one: ExplainedConnector) -> str:
    plan = one.plan_lines()
    return outline(one.value()) + (f"\nIts part of the plan:\n{plan}" if plan else "")


def _explained(runtime: Runtime, planned: Planned, proposal: Proposal) -> list[ExplainedConnector]:
    """What is known of each connector of one cluster."""
    plan, situation, directory = proposal.plan, proposal.situation, planned.directory
    documents = planned.declared.diagnostics.under(directory)
    problems = Diagnostics((*documents.errors, *proposal.diagnostics.under(directory).errors))
    known, parts = situation.conditions, {one.name: one for one in plan.connectors}
    repository = runtime.settings.repository
    daemon = f"when the daemon reconciles: after a commit, and every {repository.interval:g}s; without a daemon: "
    when = f"{daemon if repository.url else ''}gitops-connect apply"
    return [
        ExplainedConnector(
            status,
            parts.get(status.name, ConnectorPlan(status.name)),
            origin(plan.revision),
            situation.desired.by_name.get(status.name),
            [one for one in plan.offset_changes if one.connector == status.name],
            situation.ownership.get(status.name),
            [one for (name, _, _), one in known.items() if name == status.name],
            [one for one in problems if one.connector == status.name],
            when,
            directory,
            _why_undeclared(situation.desired, status.name),
        )
        for status in connector_statuses(runtime, proposal, find_unhealthy(situation), documents, directory)
    ]


def _why_undeclared(desired: DesiredState, name: ConnectorName) -> str:
    if name in desired.held:
        return "its document has errors"
    some = "" if desired.complete else "some documents could not be read, and "
    return f"{some}no document declares it"


def tell_next(settings: Settings, name: ConnectorName, clusters: Sequence[ClusterName]) -> None:
    """Say what the next reconciliation does with the connector, and what in its document keeps it from running."""
    if not settings.repository.url and default_directory(settings) is None:
        echo_note("no repository is configured; `gitops-connect plan DIR` shows what is done next")
        return
    with closing(open_runtime(settings)) as runtime:
        directory, is_unmerged = default_directory(settings), is_untrusted(None)
        planned = plan_clusters(runtime, directory, clusters, untrusted=is_unmerged)
        every = [one for made in planned.made for one in _explained(runtime, planned, made)]
    for one in every:
        if one.status.name == name:
            echo(f"Next on {one.status.cluster}: {'; '.join(next_steps(one.planned))}")
            if one.declared is not None and (advice := state_advice(one.declared, one.declared_at)):
                echo_note(advice)
            echo(f"Details: gitops-connect explain connector {shlex.quote(name)} --cluster {one.status.cluster}")


# Words: each has a name and a function that explains it.

Explain = Callable[[], str]


def _explain_word(what: str) -> ExitCode:
    """Print what the word means; of a part of a name, all names with that part. Case does not count."""
    word, known = _CLUSTER.sub("clusters.name", what.lower().replace("] ", ".").strip("[]` ")), _words()
    found = [one for one in known if one.lower() == word] or [one for one in known if _ends_with(one.lower(), word)]
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


def _ends_with(name: str, word: str) -> bool:
    return bool(word) and name.endswith(word) and name[-len(word) - 1] in "./ "


@cache
def _words() -> Mapping[str, Explain]:
    return {**dict(_each_word()), **dict(_each_setting())}


def _each_word() -> Iterator[tuple[str, Explain]]:
    for schema in map(read_schema, _SCHEMAS):
        for path in field_paths(schema):
            yield path, partial(_field, schema, path)
    for rule, explanation in rule_explanations().items():
        yield rule, partial(_rule, rule, explanation)
    for hold in HoldKind:
        yield hold.value, partial(_hold, hold)
    for error in _error_classes(GitopsConnectError):
        yield error.__name__, partial(_error, error)
    for code in ExitCode:
        yield f"exit code {code.value}", partial(_exit_code, code)
        yield f"exit code {code.name}", partial(_exit_code, code)


def _each_setting() -> Iterator[tuple[str, Explain]]:
    for cls, section in TABLES.items():
        yield section, partial(_section, cls, section)
        for setting in described_settings(cls, section):
            yield f"{section}.{setting.name}", partial(_setting, section, setting)


def _error_classes(base: type[GitopsConnectError]) -> Iterator[type[GitopsConnectError]]:
    for one in base.__subclasses__():
        if errors.explanation(one)[2]:
            yield one
        yield from _error_classes(one)


def _page(title: str, parts: Mapping[str, str], page: str) -> str:
    """A title, and each part that is not empty below its heading, as `kubectl explain` prints them."""
    filled = {**{heading: text for heading, text in parts.items() if text}, "DOCS": f"docs/reference/{page}"}
    blocks = (f"{heading}:\n{_wrapped(text)}\n" for heading, text in filled.items())
    return "\n".join([f"{title}\n", *blocks])


def _wrapped(text: str) -> str:
    hanging = "  " if "\n" in text else ""
    lines = (
        textwrap.wrap(line, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )
    return textwrap.indent("\n".join("\n".join(one) for one in lines), "  ")


def _field(schema: Mapping[str, object], path: str) -> str:
    found = field_at(schema, path.split("."))
    if found is None:
        raise AssertionError(f"{path} is no field")
    kind = path.partition(".")[0]
    required = "required" if found.required and path != kind else ""
    parts = {
        "TYPE": ", ".join(filter(None, (found.type, required))),
        "DEFAULT": found.default,
        "ALLOWED VALUES": ", ".join(found.allowed),
        "DESCRIPTION": found.description,
        "EXAMPLE": found.examples[0] if found.examples else "",
        "FIELDS": "\n".join(map(_below, found.fields)),
    }
    return _page(path, parts, f"documents/{_PAGES[kind]}.md")


def _below(field: FieldExplanation) -> str:
    default = f"default {field.default}" if field.default else ""
    facts = ", ".join(filter(None, (field.type, "required" if field.required else "", default)))
    return f"{field.name} ({facts}): {field.description}"


def _rule(rule: str, known: RuleExplanation) -> str:
    severity = (known.severity or RULES[rule].severity).value
    parts = {
        "MEANING": known.trigger,
        "SEVERITY": f"{severity}; {known.exception}" if known.exception else severity,
        "WHAT TO DO": known.fix,
        "EXAMPLE": known.example,
    }
    return _page(f"[{rule}]", parts, "rules.md")


def _error(error: type[GitopsConnectError]) -> str:
    meaning, retry, fix = errors.explanation(error)
    kind = "temporary: a later attempt may succeed" if issubclass(error, Waiting) else "permanent: it must be fixed"
    parts = {"MEANING": meaning, "KIND": kind, "RETRY": retry, "WHAT TO DO": fix}
    return _page(error.__name__, {**parts, "EXIT CODE": str(exit_code(error("")).value)}, "errors.md")


def _hold(hold: HoldKind) -> str:
    held, passes = (", ".join(one.value for one in Intent if (one in PASSES[hold]) is let) for let in (False, True))
    parts = {
        "MEANING": "A hold: a reason to leave a connector as it is.",
        "DOES NOT LET PASS": held,
        "LETS PASS": passes or "nothing",
        "WHAT TO DO": "`gitops-connect explain connector NAME` says what releases the hold of a connector.",
    }
    return _page(hold.value, parts, "holds.md")


def _exit_code(code: ExitCode) -> str:
    return _page(f"exit code {code.value} ({code.name})", {"MEANING": EXIT_CODES[code]}, "exit-codes.md")


def _section(cls: type, section: str) -> str:
    settings = "\n".join(f"{one.name} ({one.type}): {one.meaning}" for one in described_settings(cls, section))
    return _page(f"[{section}]", {"MEANING": section_meaning(cls), "SETTINGS": settings}, "settings.md")


def _setting(section: str, setting: SettingDoc) -> str:
    parts = {
        "MEANING": setting.meaning,
        "TYPE": setting.type,
        "DEFAULT": setting.default,
        "ENVIRONMENT VARIABLE": setting.variable,
    }
    return _page(f"[{section}] {setting.name}", parts, "settings.md")
