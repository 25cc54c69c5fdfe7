"""Invalid settings, and ledgers that someone edited: each command reports the error and does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filled_ledger import edit, fill_file
from standin.connect import StandIn

from hostile.place import BOUNDS, SECRETS, Bounds, Place, document, graded

SECRET = SECRETS["CONNECT_PASSWORD"]
CLUSTER = '[clusters.local]\nurl = "http://127.0.0.1:1"\ntimeout = "1s"\n'


@dataclass(frozen=True)
class Row:
    """The settings, and a part of what `doctor` and `status` report."""

    id: str
    text: str
    says: str


DIGITS = "9" * 400
SETTINGS = [
    Row("a port that is no number", "[clusters.local]\nurl = 'http://h:port'", "[clusters.local] url"),
    Row("a ledger's port", f"[state]\nurl = 'postgresql+psycopg://u:{SECRET}@h:port/x'\n{CLUSTER}", "[state] url"),
    Row("a timeout of the ledger", f"[state]\nurl = 'sqlite:///a.db?timeout=x'\n{CLUSTER}", "[state] url"),
    Row("no such user", f"[state]\nurl = 'sqlite:///~nosuchuser/a.db'\n{CLUSTER}", "a user that does not exist"),
    Row("NUL in a path", f'[repository]\nurl = "x"\nssh_key = "a\\u0000b"\n{CLUSTER}', "without NUL characters"),
    Row("Content-Length", f"{CLUSTER}headers = {{'Content-Length' = 'x'}}", "'Content-Length'"),
    Row("a header that is not ASCII", f"{CLUSTER}headers = {{'X-Ü' = 'x'}}", "'X-Ü'"),
    Row("400 digits as worker_heap", f"{CLUSTER}worker_heap = {DIGITS}", "worker_heap: expected a size"),
    Row("400 digits as max_deletions", f"{CLUSTER}max_deletions = {DIGITS}", "max_deletions: expected a number"),
    Row("400 digits as a timeout", f"[repository]\ntimeout = {DIGITS}\n{CLUSTER}", "timeout: expected a duration"),
    Row("/dev/zero as a token", f"{CLUSTER}token = {{file = '/dev/zero'}}", "/dev/zero' is neither a file"),
    Row("/dev/zero as ledger key", f"[state]\nkey = {{file = '/dev/zero'}}\n{CLUSTER}", "/dev/zero"),
    Row("an empty cluster name", "[clusters.\"\"]\nurl = 'http://h'", "expected letters"),
    Row("control characters in a name", '[clusters."a\\u001b[31m"]\nurl = "http://h"', "expected letters"),
    Row("deep TOML", f"{CLUSTER}headers = {'[' * 100_000}", "cannot read the settings file"),
    Row("a number of 5,000 digits", f"{CLUSTER}parallelism = {'9' * 5000}", "cannot read the settings file"),
    Row("a secret in odd addresses", f"[repository]\nurl = 'u:{SECRET}@host:r.git'\n{CLUSTER}", "[repository] url"),
    Row("a secret in http:/", f"[repository]\nurl = 'http:/u:{SECRET}@host/r.git'\n{CLUSTER}", "[repository] url"),
    Row("a secret in a query", f"[state]\nurl = 'sqlite:///a.db?password={SECRET}'\n{CLUSTER}", "[state] url"),
    Row("a token in a cluster's url", f"[clusters.local]\nurl = 'http://h/?token={SECRET}'", "[clusters.local] url"),
    Row("headers as a string", f"{CLUSTER}headers = 'Authorization: Bearer {SECRET}'", "headers"),
    Row(
        "a secret as a variable's name", f"{CLUSTER}token = {{env = '{SECRET}'}}", "an environment variable is not set"
    ),
]


@pytest.mark.parametrize("row", graded(SETTINGS))
def test_settings(row: Row, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.settings(row.text)
    place.write("clusters/local/a.yaml", document())
    said = ""
    for command in (("doctor", "-o", "json"), ("status", "repository")):
        ran = place.run(*command, bounds=Bounds(128, 60))
        assert ran.code in (1, 64)
        said += ran.said
    assert row.says in said


@dataclass(frozen=True)
class Damage:
    """A value that is written to a column of the only row."""

    table: str
    column: str
    value: Any

    @property
    def id(self) -> str:
        return f"{self.table}.{self.column}={str(self.value)[:20]!r}"


DAMAGES = [
    Damage("ownership", "applied", "[" * 100_000),
    Damage("ownership", "origin", "stolen"),
    Damage("ownership", "since", "yesterday"),
    Damage("ownership", "revision", b"\xff"),
    Damage("operations", "kind", "explode"),
    Damage("operations", "state", "\x1b[31m"),
    Damage("operations", "acknowledged", '{"a":' * 100_000),
    Damage("operations", "snapshot", "text"),
    Damage("operations", "entries", "x" * 10_000_000),
    Damage("operation_pieces", "content", "text"),
    Damage("revisions", "at", "2026-11-21"),
    Damage("leases", "expires", "1795262400"),
]


@pytest.mark.parametrize("row", graded(DAMAGES))
def test_a_damaged_ledger(row: Damage, tmp_path: Path) -> None:
    with StandIn() as worker:
        place = Place(tmp_path)
        place.settings(f'[repository]\nurl = "repository"\n[clusters.local]\nurl = "{worker.url}"\n')
        place.write("clusters/local/a.yaml", document())
        place.commit()
        fill_file(tmp_path)
        edit(tmp_path, row.table, row.column, row.value)
        ran = place.run("apply", "--yes", bounds=BOUNDS)
        assert worker.count("POST|PUT|PATCH|DELETE", "/connectors.*") == 0
    assert f"is damaged: table {row.table}" in ran.err
    assert f"column {row.column}" in ran.err
    assert len(ran.err) < 2000
