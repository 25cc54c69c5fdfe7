"""Lists in the format that `-o` selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from gitops_connect.cli.options import TableOutput


def listing(headers: Sequence[str], rows: Sequence[Sequence[str]], values: Sequence[Any], output: TableOutput) -> str:
    """The rows as a table, or the values as JSON or YAML."""
    from gitops_connect.report.table import as_json, as_yaml, table

    match output:
        case TableOutput.TABLE:
            return table(headers, rows)
        case TableOutput.JSON:
            return as_json(list(values))
        case TableOutput.YAML:
            return as_yaml(list(values))
        case _:
            assert_never(output)
