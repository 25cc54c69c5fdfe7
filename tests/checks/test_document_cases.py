"""Every file of cases/documents, as the only file of its repository. A new case needs a new file, and no code.

positive: line 1 contains the expected connectors with some of their config, as JSON. A list of the expected offset
changes may follow, each as `NAME: KIND CONNECTOR`.
negative: line 1 lists every diagnostic, in order, as `LINE:COLUMN RULE PART OF THE MESSAGE`, separated by ` | `.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.files.document_files import declare

from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.names import ClusterName

CASES = Path(__file__).parents[1] / "cases" / "documents"
CLUSTERS = ("local", "backup")
EXPECT = "# expect: "


def cases(directory: str) -> list[object]:
    root = CASES / directory
    found = sorted(path for path in root.rglob("*") if path.is_file())
    assert found, f"there is no case in {root}"
    return [pytest.param(path, path.relative_to(root).as_posix(), id=path.stem) for path in found]


def expected(path: Path) -> str:
    first = path.read_text().splitlines()[0]
    assert first.startswith(EXPECT), f"{path} does not say what to expect"
    return first.removeprefix(EXPECT)


@pytest.mark.parametrize(("path", "name"), cases("positive"))
def test_positive(path: Path, name: str) -> None:
    states, diagnostics = declare({name: path.read_text()}, CLUSTERS)
    assert [str(item) for item in diagnostics] == []
    configs = {connector.name: connector.config for connector in states[ClusterName("local")].connectors}
    text = expected(path)
    wanted, end = json.JSONDecoder().raw_decode(text)
    assert configs.keys() == wanted.keys()
    assert spell_offset_changes(states[ClusterName("local")]) == json.loads(text[end:] or "[]")
    for connector, config in wanted.items():
        assert config.items() <= configs[connector].items()


@pytest.mark.parametrize(("path", "name"), cases("negative"))
def test_negative(path: Path, name: str) -> None:
    _, diagnostics = declare({name: path.read_text()}, CLUSTERS)
    wanted = [re.fullmatch(r"(\d+:\d+) (\S+) (.+)", part) for part in expected(path).split(" | ")]
    assert all(wanted), f"line 1 of {path} cannot be read"
    shown = [f"{item.location.line}:{item.location.column} {item.rule}" for item in diagnostics]
    assert shown == [f"{one.group(1)} {one.group(2)}" for one in wanted if one], spell(diagnostics.items)
    for item, one in zip(diagnostics, wanted, strict=True):
        assert one is not None
        assert one.group(3) in f"{item.summary} ({item.hint})"


def spell_offset_changes(state: DesiredState) -> list[str]:
    seeds = [connector.initial_offsets for connector in state.connectors if connector.initial_offsets]
    return [f"{one.name}: {one.kind.value} {one.connector}" for one in (*state.offset_changes, *seeds)]


def spell(items: tuple[Diagnostic, ...]) -> str:
    return "\n".join(f"{item.location}: {item.summary} [{item.rule}] {item.hint}" for item in items)
