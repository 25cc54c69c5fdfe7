"""The page of settings: meanings from the docstrings of the fields, the example from gitops-connect.toml."""

from __future__ import annotations

from pathlib import Path

from generated_tables import NOTICE, cell

from gitops_connect.cli.setting_docs import TABLES, described_settings, section_meaning

EXAMPLE = Path(__file__).parent / "gitops-connect.toml"
SETTINGS_INTRODUCTION = """\
gitops-connect reads one settings file, in TOML: the one that `--config FILE` names, otherwise the one that the variable
`GITOPS_CONNECT_CONFIG` names, otherwise `gitops-connect.toml` in the current directory. Relative paths start from the
directory of the settings file.

Only the `url` of each cluster is required. If you name a source database, its table needs `url` and `connectors`.
Commands that read the repository also need `[repository] url`, or a directory as an argument.

| type | how to write it |
| --- | --- |
| string | `"main"` |
| path | a string; `~` is your home directory |
| number | `8`, or `0.3` for a fraction |
| duration | `"30s"`, `"5m"`, `"1m30s"`, `"500ms"`, or a number of seconds |
| size | `"2GiB"`, `"512MiB"`, or a number of bytes |
| credential | `{env = "NAME"}` or `{file = "PATH"}`; read whenever it is used |
| list | `["a", "b"]` |

## Environment variables

An environment variable takes precedence over the settings file. Its name is `GITOPS_CONNECT_` and the path of the
setting in capitals, with two underscores between the parts. The tables below list all of them. Replace `NAME` by the
name of the cluster; gitops-connect reads it in lower case.

| type | value of the variable |
| --- | --- |
| list | the items, separated by commas |
| credential | the secret itself; with `__ENV` or `__FILE` after the name: the variable or file that contains it |
| table | write it in the settings file |

## Example with all settings

"""


def settings() -> str:
    """The settings file: an example of all settings, and a table for each section."""
    example = EXAMPLE.read_text(encoding="utf-8")
    lines = ["# Settings", "", NOTICE, f"{SETTINGS_INTRODUCTION}```toml\n{example}```", ""]
    for cls, name in TABLES.items():
        lines += [
            f"## `[{name}]`",
            "",
            section_meaning(cls),
            "",
            "| setting | meaning | type | default | environment variable |",
            "| --- | --- | --- | --- | --- |",
        ]
        for one in described_settings(cls, name):
            cells = (f"`{one.name}`", cell(one.meaning), one.type, one.default, one.variable)
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
