"""The page of errors: meaning, retry and fix from the docstring of each class, titles and messages from errors.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from generated_tables import NOTICE, cell

from gitops_connect import errors
from gitops_connect.cli.exit_codes import exit_code


@dataclass(frozen=True, slots=True)
class ErrorSection:
    """A title in the words of someone who meets the error, examples of what the program prints, and its causes."""

    error: type[errors.GitopsConnectError]
    title: str
    examples: str
    causes: Sequence[tuple[str, str]] = ()
    """What is wrong, and what to do, if an error has several causes."""


ERRORS_INTRODUCTION = """\
Find the message that you see in the section of its situation. Most messages also say what to do. Problems in documents
and offset manifests are not listed here: their messages end with the id of a [rule](rules.md) in brackets.

| where | how an error is shown |
| --- | --- |
| a command that ends with an error | `error: MESSAGE` on stderr |
| a command that continues with other clusters | `error: cluster NAME: MESSAGE` on stderr |
| a failed step of `apply` | `~ orders: configure FAILED: MESSAGE` |
| `run` | a [log event](log-events.md); the `reason` of `reconciliation_failed` is the name of the error |

An error is temporary or permanent:

- **temporary**: A later attempt may succeed. `run` reconciles again after `[daemon] retry_interval` (10s). The wait
  doubles with each further failure, up to `max_retry_interval` (300s).
- **permanent**: A later attempt alone does not help. `run` reconciles again after `max_retry_interval` (300s).

After a failed step, `run` always waits as for a temporary error. A new commit ends each wait. All other commands end
with the exit code of the error. A failed step ends `apply` with exit code 1, after the steps of the other connectors. A
bug of gitops-connect ends with 70 ([all exit codes](exit-codes.md)).
"""


def situations() -> Mapping[str, list[ErrorSection]]:
    """The sections of the page, by situation."""
    listed = yaml.safe_load((Path(__file__).parent / "errors.yaml").read_text(encoding="utf-8"))
    return {
        situation: [ErrorSection(**{**one, "error": getattr(errors, one["error"])}) for one in sections]
        for situation, sections in listed.items()
    }


def error_page() -> str:
    """Every error by situation: examples of its message, its meaning, what is retried, and what to do."""
    lines = ["# Errors", "", NOTICE, ERRORS_INTRODUCTION]
    lines += ["| error | name | kind | exit code |", "| --- | --- | --- | --- |"]
    for sections in situations().values():
        lines += [
            f"| [{one.title}](#{_anchor(one.title)}) | `{one.error.__name__}` | {_facts(one)} |" for one in sections
        ]
    for situation, sections in situations().items():
        lines += ["", f"## {situation}"]
        for section in sections:
            lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: ErrorSection) -> list[str]:
    meaning, retry, fix = errors.explanation(section.error)
    kind, code = _facts(section).split(" | ")
    causes = ["| cause | what to do |", "| --- | --- |", *(f"| {what} | {fix} |" for what, fix in section.causes), ""]
    return [
        f"### {section.title}",
        "",
        "```text",
        section.examples.rstrip(),
        "```",
        "",
        *(causes if section.causes else ()),
        f"- **Meaning:** {meaning}",
        f"- **Retry:** {retry}",
        f"- **What to do:** {fix}",
        f"- **Name:** `{section.error.__name__}`, {kind}. **Exit code:** {code}.",
    ]


def _facts(section: ErrorSection) -> str:
    kind = "temporary" if issubclass(section.error, errors.Waiting) else "permanent"
    return f"{cell(kind)} | {exit_code(section.error()).value}"


def _anchor(title: str) -> str:
    return title.lower().replace(",", "").replace(" ", "-")
