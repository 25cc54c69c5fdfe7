"""`gitops-connect explain`: words, and why a connector is as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acceptance.workplace import Workplace, change, run_here
from support.files.tables import rows

from gitops_connect.checks.document_schemas import read_schema
from gitops_connect.checks.schema_fields import document_fields
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.report.code_scanning import rule_explanations

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("word", "shown"), rows(__file__, "words"))
def test_what_a_word_means(word: str, shown: list[str]) -> None:
    run_here("explain", *word.split(maxsplit=1)).expect(0, out=shown, err="")


@pytest.mark.parametrize(("words", "code", "said"), rows(__file__, "unknown"))
def test_what_is_not_explained(words: str, code: int, said: list[str]) -> None:
    run_here("explain", *words.split()).expect(code, said=said)


def test_every_rule_exit_code_and_field_is_explained() -> None:
    for word in (*rule_explanations(), *(str(code.value) for code in ExitCode)):
        run_here("explain", word).expect(0, out="DOCS:\n  docs/reference/")
    for schema in map(read_schema, ("connector", "offset-change")):
        for field in document_fields(schema):
            assert field.description, field.path
            assert field.type not in ("", "value"), field.path


def test_a_connector_that_is_blocked(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    name = at.name("orders")
    at.run("suspend", "connector", name, "--reason", "INC-4711")
    at.commit("orders.yaml", at.source("orders", topic='"\\e[31mred"'), change("later", name, "operation: reset"))
    ran = at.run("explain", "connector", name).expect(
        0,
        out=(
            "OutOfSync",
            "orders.yaml:1:1",
            "later (reset)",
            "Hold:    suspension",
            "(INC-4711)",
            f"Release: run: gitops-connect resume connector {name}",
            "not done: configure",
            r"\u001b[31mred",
            "Its part of the plan:",
        ),
    )
    assert "\x1b" not in ran.out + ran.err
    (value,) = json.loads(at.run("explain", "connector", name, "-o", "json").out)
    assert value["Blocked by"][0]["Hold"] == "suspension"
    assert value["Live"]["State"] == "RUNNING"


def test_a_connector_that_nothing_declares_or_nothing_knows(at: Workplace, tmp_path: Path) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    name = at.name("orders")
    at.rest("POST", "/connectors", {"name": f"{name}-2", "config": at.config("orders") | {"name": f"{name}-2"}})
    at.run("explain", "connector", f"{name}-2").expect(0, out=("no document declares it", "nothing is planned"))
    at.run("explain", "connector", name).expect(0, out=("Synced", "nothing is planned"))
    at.run("explain", "connector", name[:-1]).expect(1, err=f"did you mean '{name}'?")
    at.commit("orders.yaml", at.source("orders", "state: runing"))
    at.run("explain", "connector", name).expect(0, out=("its document has errors (", "orders.yaml:6:3: ", "[schema/"))
    at.commit("orders.yaml", "apiVersion: gitops-connect/v1\n\tkind")
    at.run("explain", "connector", name).expect(0, out="some documents could not be read, and no document declares it")
    (tmp_path / "documents").mkdir()
    at.run("explain", "connector", name, "--directory", str(tmp_path / "documents")).expect(
        0, out="no document declares it (no commit (a directory))"
    )
