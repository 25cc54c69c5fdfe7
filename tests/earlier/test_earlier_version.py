"""Files that an earlier version wrote: a ledger, an export of it, a saved plan and a settings file. Each is still read.

The version before the new package layout wrote `ledger.sql`, `export.json` and `plan.json`; the ledger has schema
version 7. Never rewrite these files: users have such files. Add new files if a newer version stores something
differently.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from filled_ledger import KEY, LARGE, fill
from standin.connect import StandIn
from support.planner.offset_change_values import LOCAL, NOON, SKIP

from gitops_connect.cli.main import run_command
from gitops_connect.ledger.archive import FORMAT_VERSION, read_archive, write_archive
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.names import ClusterName, OffsetChangeName
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind, LogFormat
from gitops_connect.settings.settings_file import load_settings

pytestmark = pytest.mark.slow

EARLIER = Path(__file__).parent
FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def opened(directory: Path, name: str) -> Ledger:
    return Ledger.open(f"sqlite:///{name}.db", directory, KEY)


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that this version has written, with the rows of the earlier one, whose history had no approvals."""
    with closing(opened(tmp_path, "new")) as ledger:
        fill(ledger)
        with closing(sqlite3.connect(ledger.place)) as database, database:
            database.execute("DELETE FROM steps WHERE action = 'approve'")
            database.execute("UPDATE steps SET id = id - 1")
        yield ledger


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Ledger]:
    with closing(sqlite3.connect(tmp_path / "old.db")) as database:
        database.executescript((EARLIER / "ledger.sql").read_text(encoding="utf-8"))
    with closing(opened(tmp_path, "old")) as ledger:
        yield ledger


def content(ledger: Ledger) -> dict[str, Any]:
    """Everything that a plan or a page reads from the ledger."""
    offset_changes, status, reviews = ledger.offset_changes, ledger.status, ledger.reviews
    names = offset_changes.records(LOCAL)
    return {
        "ownership": ledger.ownership(LOCAL),
        "restarts": (ledger.restarts.of(LOCAL), ledger.restart_requests.of(LOCAL)),
        "suspensions": ledger.suspensions(LOCAL),
        "stopped": ledger.stopped.of(LOCAL),
        "revisions": ledger.revisions(LOCAL),
        "histories": ledger.configs.of(LOCAL),
        "operations": names,
        "offsets": {
            name: (offset_changes.declared(LOCAL, name), offset_changes.snapshot(LOCAL, name)) for name in names
        },
        "saved": [
            offset_changes.saved(LOCAL, OffsetChangeName(name)) for name in (SKIP.name, "open", LARGE.name, "seed")
        ],
        "pieces": {part: [*offset_changes.pieces(LOCAL, LARGE.name, part)] for part in OffsetsPart},
        "conditions": status.conditions.of(LOCAL),
        "positions": status.offset_positions.of(LOCAL),
        "steps": status.steps(),
        "plans": [reviews.plans([7], purpose) for purpose in PlanPurpose],
        "approvals": (reviews.approvals(7), reviews.approved([7])),
    }


def stored(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The stored values of each table; what is compressed is unpacked, because another zlib compresses differently.

    The earlier version has recorded no effects of offset changes.
    """
    with closing(sqlite3.connect(file)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        database.execute("UPDATE operations SET effect = NULL")
        rows = {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in tables}  # noqa: S608
    return {name: sorted((tuple(map(_unpacked, row)) for row in found), key=repr) for name, found in rows.items()}


def _unpacked(value: Any) -> Any:
    return zlib.decompress(value) if isinstance(value, bytes) else value


def test_a_ledger_is_opened_and_keeps_its_content(old: Ledger, new: Ledger) -> None:
    assert content(old) == content(new)


def test_the_stored_values_are_the_same_as_before(old: Ledger, new: Ledger) -> None:
    found, expected = stored(Path(new.place)), stored(Path(old.place))
    assert expected.keys() == found.keys()
    for table, rows in expected.items():
        assert found[table] == rows, f"{table}: an older version, which reads the same schema, cannot read these values"


def test_an_export_is_the_same_as_before_and_is_imported(old: Ledger, tmp_path: Path) -> None:
    export = (EARLIER / "export.json").read_text(encoding="utf-8")
    assert unpacked(write_archive(old.export())) == unpacked(since_then(export))
    with closing(opened(tmp_path, "other")) as other:
        other.restore(read_archive(export, "export.json"), NOON)
        assert unpacked(write_archive(other.export())) == unpacked(since_then(export))
        left_out = dict.fromkeys(("conditions", "positions", "steps"))
        assert content(other) | left_out == content(old) | left_out


def since_then(export: str) -> str:
    """The export as this version writes it."""
    document = json.loads(export) | {"format_version": FORMAT_VERSION}
    document["operations"] = [{**one, "lacks": [], "effect": None} for one in document["operations"]]
    revisions = document.pop("revisions")
    return (
        json.dumps({**document, "rollout_decisions": [], "revisions": revisions}, indent=2, ensure_ascii=False) + "\n"
    )


def unpacked(export: str) -> str:
    """The text of an export without what is compressed."""
    return re.sub(r'"eJ[A-Za-z0-9+/=]*"', "0", export)


def test_a_saved_plan_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEDGER_KEY", KEY.decode())
    (tmp_path / "documents.yaml").write_text((EARLIER / "documents.yaml").read_text())
    with StandIn() as worker:
        cluster = f'[clusters.local]\nurl = "{worker.url}"\nmin_running = "0.2s"\ntask_shutdown_timeout = 0\n'
        (tmp_path / "gitops-connect.toml").write_text(f'[state]\nkey = {{env = "LEDGER_KEY"}}\n{cluster}')
        config = {"name": "orders", "connector.class": FILE, "file": "/data/orders.txt", "topic": "orders"}
        worker.cluster.create("orders", config, "STOPPED")
        assert run_command(["apply", str(EARLIER / "plan.json")]) == 0
        assert {one: connector.target.value for one, connector in worker.cluster.connectors.items()} == {
            "orders": "RUNNING",
            "payments": "RUNNING",
        }


def test_a_settings_file_with_every_section_is_read() -> None:
    settings = load_settings(EARLIER / "gitops-connect.toml", {})
    cluster = settings.clusters[ClusterName("prod")]
    assert settings.repository.interval == 60
    assert settings.state.key == Credential(file=Path("/run/secrets/ledger-key"))
    assert (cluster.rollout_size, cluster.max_skip.wal_bytes) == (10, 1 << 20)
    assert settings.secrets.env == ("ORDERS_*",)
    assert settings.spark.options["spark.driver.memory"].value == "4g"
    assert settings.daemon.log_format is LogFormat.TEXT
    assert settings.server.metrics_connectors == 500
    assert settings.strimzi.output_branch == "offsets"
    assert settings.forge.kind is ForgeKind.GITHUB
    assert settings.notifications.repeat_after == 3 * 3600
    no_sections = ("directory", "file", "chooses_ledger")
    sections = (getattr(settings, one.name) for one in fields(settings) if one.name not in no_sections)
    assert [one for one in sections if one == type(one)()] == [], "a section with nothing but its defaults"
