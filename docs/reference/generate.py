"""Writes the reference pages from the code, so that they cannot fall behind: `make docs`.

cli.md        every command and option, from the command line itself (cli_page.py)
settings.md   every setting, from the docstrings of its fields and from gitops-connect.toml (settings_page.py)
errors.md     every error by situation, from the docstring of its class (error_page.py)
connectors.md what decides where each known connector class resumes, from the rules of the plan
versions.md   what each version of Connect can do, from the table of capabilities (versions_page.py)
rules.md      every rule: trigger, severity, fix and example
proposals.md  which statements of proposals are done, from proposals.yaml (proposals_page.py)
helm-values.md every value of the Helm chart, from the comments of values.yaml; and values.schema.json (helm_values.py)
../contributing/hostile-inputs.md  who sends which hostile input, from tests/hostile/inputs.yaml (hostile_inputs.py)
../pictures/plan.svg  a plan and its apply, drawn from the program's own coloured output (picture.py)
../../gitops_connect/cli/known_commands.json  the parameters of all commands, for shells (completions.py)
exit-codes.md is written by hand; tests/docs/test_docs.py holds it to the code
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import helm_values
import hostile_inputs
import proposals_page
from cli_page import cli
from completions import completions
from error_page import error_page
from generated_tables import NOTICE
from picture import PICTURE, picture
from resume_page import connectors
from settings_page import settings
from versions_page import versions

from gitops_connect.offsets.rules.rules import RULES as MANIFEST_RULES
from gitops_connect.report.code_scanning import rule_explanations

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {
        "cli.md": cli(),
        "settings.md": settings(),
        "errors.md": error_page(),
        "rules.md": rules(),
        "connectors.md": connectors(),
        "versions.md": versions(),
        "proposals.md": proposals_page.page(),
        "helm-values.md": helm_values.page(),
        "../../gitops_connect/cli/known_commands.json": completions(),
        "../../deploy/helm/values.schema.json": helm_values.schema(),
        "../contributing/hostile-inputs.md": hostile_inputs.page(),
    }


RULES_INTRODUCTION = """\
Each problem that `validate`, `plan`, `offsets check` or `convert` reports ends with the id of its rule in brackets:
`orders.yaml:7:3: error: metadata.name is missing [schema/required]`.

| severity | effect |
| --- | --- |
| error | The connector or the offset change is blocked until you fix the error. |
| warning | Nothing is blocked. |
| note | Nothing is blocked. It is unknown whether this is a problem, for example because the ledger cannot be read. |

If `validate` cannot read a ledger, the offset changes may have been applied before. The rules that compare an offset
manifest with its connector are then notes.

| rules that begin with | are about |
| --- | --- |
| `source/` | the files of the repository |
| `yaml/`, `document/`, `schema/` | every document: its syntax, its kind, its fields |
| `internal/` | a bug in gitops-connect that concerns one document |
| `connector/`, `secret/` | a [Connector](documents/connector.md) |
| `convert/` | the files that [`convert`](convert.md) reads and writes |
| `connect/` | what Connect reports about the config of a connector |
| `offsets/` | an [OffsetChange](documents/offset-change.md) or `initialOffsets` |
| `manifest/` | the offsets of a document or of an offset manifest ([what Connect would do](manifest-rules.md)) |
"""


def rules() -> str:
    """Every rule: what triggers it, its severity, how to fix it, and an example."""
    lines = ["# Rules", "", NOTICE, RULES_INTRODUCTION.rstrip()]
    for rule, known in sorted(rule_explanations().items()):
        usual = (known.severity or MANIFEST_RULES[rule].severity).value
        severity = f"{usual}; {known.exception}" if known.exception else usual
        example = textwrap.indent(known.example, "    ")
        lines += ["", f"## `{rule}`", "", known.trigger, "", f"- **Severity:** {severity}", f"- **Fix:** {known.fix}"]
        lines += ["", "Example:", "", example]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write every page, and the picture of a plan and its apply."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stderr.write(f"docs/reference/{name}\n")
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stderr.write("docs/pictures/plan.svg\n")


if __name__ == "__main__":
    main()
