"""Messages about where a connector resumes, from plan to undo, for Debezium for PostgreSQL and its slot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from acceptance.workplace import Workplace

pytestmark = pytest.mark.slow

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
NOW, EARLIER = 26_760_080, 26_759_248
SLOT = "the replication slot decides, not the offset"
WARNING = "this class does not check offsets: the replication slot also decides where it resumes"


@pytest.fixture
def shop(at: Workplace) -> Workplace:
    """A declared and stopped connector `shop`, at LSN 0/1985390."""
    at.commit("shop.yaml", at.document("shop", CLASS, "state: stopped", {"topic.prefix": "shop"}))
    at.apply()
    at.rest("PATCH", f"/connectors/{at.name('shop')}/offsets", {"offsets": [entry(NOW)]})
    return at


def entry(lsn: int | str) -> dict[str, object]:
    return {"partition": {"server": "shop"}, "offset": {"lsn": lsn}}


def change(at: Workplace, name: str, lsn: int | str, acknowledge: str) -> None:
    at.commit(
        f"{name}.yaml",
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\n"
        f"metadata: {{name: {name}}}\nspec:\n  connector: {at.name('shop')}\n  operation: alter\n"
        f"  offsets: {json.dumps([entry(lsn)])}\n  acknowledge: [{acknowledge}]\n",
    )


def status(at: Workplace) -> list[dict[str, object]]:
    found: list[dict[str, object]] = at.rest("GET", f"/connectors/{at.name('shop')}/offsets")["offsets"]
    return found


def test_a_rewind_is_refused_before_anything_is_stopped(shop: Workplace) -> None:
    change(shop, "back", "0/1985050", "rewind")
    planned = shop.run("plan")
    assert planned.code == 4
    assert SLOT in planned.err
    assert "acknowledge: [external]" in planned.err
    assert shop.run("apply", "--auto-approve").code == 4
    assert status(shop) == [entry(NOW)]


def test_an_acknowledged_rewind_is_planned_with_its_consequences_and_applied_with_one_warning(shop: Workplace) -> None:
    change(shop, "back", "0/1985050", "rewind, external")
    planned = shop.run("plan").out
    assert "rewind 832 bytes of WAL (lsn 0/1985390 -> 0/1985050)" in planned
    assert planned.count(SLOT) == 1
    assert "to read rows again: set `snapshot.mode: when_needed`, or reset the offsets" in planned
    (planned_change,) = json.loads(shop.run("plan", "-o", "json").out)["clusters"][0]["offset_changes"]
    assert [line["aspect"] for line in planned_change["difference"]["resume"]] == ["decides", "risk", "again"]
    assert [line["external"] for line in planned_change["difference"]["resume"]] == [True, False, False]
    applied = shop.apply()
    assert (applied.out + applied.err).count(WARNING) == 1
    assert status(shop) == [entry(EARLIER)], "Connect keeps the number"
    assert WARNING in shop.run("offsets", "history", shop.name("shop")).out


def test_check_and_diff_mention_the_replication_slot(shop: Workplace) -> None:
    manifest = shop.directory / "m.json"
    manifest.write_text(json.dumps([entry("0/1985050")]))
    checked = shop.run("offsets", "check", str(manifest), "--connector", shop.name("shop")).out
    assert SLOT in checked
    assert "acknowledge: [external, rewind]" in checked
    diff = shop.run("offsets", "diff", shop.name("shop"), str(manifest))
    assert diff.code == 2
    assert SLOT in diff.out


def test_undo_acknowledges_the_replication_slot(shop: Workplace, tmp_path: Path) -> None:
    change(shop, "back", EARLIER, "rewind, external")
    shop.apply()
    ran = shop.run("offsets", "undo", "back")
    document = yaml.safe_load(ran.out)
    assert document["spec"]["acknowledge"] == ["external"]
    assert document["spec"]["offsets"] == [entry(NOW)]


def test_initial_offsets_need_the_slot(at: Workplace) -> None:
    def seeded(acknowledge: str) -> str:
        spec = f"state: stopped\ninitialOffsets: {{offsets: {json.dumps([entry('0/10')])}, acknowledge: {acknowledge}}}"
        return at.document("shop", CLASS, spec, {"topic.prefix": "shop"})

    at.commit("shop.yaml", seeded("[]"))
    refused = at.run("plan")
    assert refused.code == 4
    assert "the replication slot also decides: it must exist" in refused.err
    at.commit("shop.yaml", seeded("[external]"))
    at.apply()
    assert status(at) == [entry(16)]
