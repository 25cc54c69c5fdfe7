"""Messages about where a connector resumes, from plan to undo, for Debezium for PostgreSQL and its slot."""

from __future__ import annotations

import json

import pytest
import yaml
from acceptance.workplace import Workplace
from acceptance.workplace import change as document

pytestmark = pytest.mark.slow

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
NOW, EARLIER = 26_760_080, 26_759_248
SLOT = "the replication slot decides, not the offset"
WARNING = "this class does not check offsets: the replication slot also decides where it resumes"


@pytest.fixture
def shop(at: Workplace) -> Workplace:
    """A declared and stopped connector `shop`, at LSN 0/1985390."""
    at.deploy("shop.yaml", at.document("shop", CLASS, "state: stopped", {"topic.prefix": "shop"}))
    at.set_offsets("shop", entry(NOW))
    return at


def entry(lsn: int | str) -> dict[str, object]:
    return {"partition": {"server": "shop"}, "offset": {"lsn": lsn}}


def change(at: Workplace, name: str, lsn: int | str, acknowledge: str) -> None:
    spec = f"operation: alter\noffsets: {json.dumps([entry(lsn)])}\nacknowledge: [{acknowledge}]"
    at.commit(f"{name}.yaml", document(name, at.name("shop"), spec))


def test_a_rewind_is_refused_acknowledged_applied_with_one_warning_and_undone(shop: Workplace) -> None:
    manifest = shop.directory / "m.json"
    manifest.write_text(json.dumps([entry("0/1985050")]))
    shop.run("offsets", "check", shop.name("shop"), str(manifest)).expect(out=(SLOT, "acknowledge: [external, rewind]"))
    shop.run("offsets", "diff", shop.name("shop"), str(manifest)).expect(0, out=SLOT)
    change(shop, "back", "0/1985050", "rewind")
    shop.run("plan").expect(4, err=(SLOT, "acknowledge: [external]"))
    assert shop.run("apply", "--auto-approve").code == 4
    assert shop.offsets("shop") == [entry(NOW)]

    change(shop, "back", "0/1985050", "rewind, external")
    planned = shop.run("plan").out
    assert "rewind 832 bytes of WAL (lsn 0/1985390 -> 0/1985050)" in planned
    assert planned.count(SLOT) == 1
    assert "to read rows again: set `snapshot.mode: when_needed` and an `lsn_commit`" in planned
    (planned_change,) = json.loads(shop.run("plan", "-o", "json").out)["clusters"][0]["offset_changes"]
    assert [line["aspect"] for line in planned_change["difference"]["resume"]] == [
        *("decides", "needs", "risk", "risk", "again")
    ]
    assert [line["external"] for line in planned_change["difference"]["resume"]] == [True, False, False, False, False]
    applied = shop.apply()
    assert (applied.out + applied.err).count(WARNING) == 1
    assert shop.offsets("shop") == [entry(EARLIER)], "Connect keeps the number"
    assert WARNING in shop.run("offsets", "history", shop.name("shop")).out
    spec = yaml.safe_load(shop.run("offsets", "undo", "back").out)["spec"]
    assert (spec["acknowledge"], spec["offsets"]) == (["external"], [entry(NOW)])


def test_initial_offsets_need_the_slot(at: Workplace) -> None:
    def seeded(acknowledge: str) -> str:
        spec = f"state: stopped\ninitialOffsets: {{offsets: {json.dumps([entry('0/10')])}, acknowledge: {acknowledge}}}"
        return at.document("shop", CLASS, spec, {"topic.prefix": "shop"})

    at.commit("shop.yaml", seeded("[]"))
    at.run("plan").expect(4, err="the replication slot also decides: it must exist")
    at.deploy("shop.yaml", seeded("[external]"))
    assert at.offsets("shop") == [entry(16)]
