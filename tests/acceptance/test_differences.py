"""What Connect does with the values of a config is no difference: each test plans twice without a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.files.tables import rows

from acceptance.workplace import Workplace

ROWS = rows(__file__, "values")
SENT = {key: stored for key, stored, _ in ROWS}
VALUES = {key: written for key, _, written in ROWS}


def plans_nothing_twice(at: Workplace) -> None:
    for _ in range(2):
        planned = at.run("plan", "--detailed-exitcode")
        assert planned.code == 0, planned.out


@pytest.mark.on_kafka
def test_values_are_compared_as_the_strings_that_connect_stores(at: Workplace) -> None:
    """Also if the document is written in another way. What differs as a string is a difference: `1.1` is not `1.10`."""
    at.deploy("orders.yaml", at.source("orders", **VALUES))
    assert at.config("orders").items() >= SENT.items()
    assert at.config("orders")["name"] == at.name("orders"), "Connect adds the name"
    plans_nothing_twice(at)
    same = {**VALUES, "x.number": '"1"', "x.string": "1", "x.boolean": '"true"', "x.decimal": "'1.10'"}
    at.commit("orders.yaml", at.source("orders", **dict(reversed(same.items()))))
    plans_nothing_twice(at)
    at.commit("orders.yaml", at.source("orders", **{**VALUES, "x.decimal": "1.1", "x.json": """'{"a":[1,2],"b":1}'"""}))
    planned = at.run("plan").out
    assert '~ x.decimal: "1.10" -> "1.1"' in planned
    assert "configure        2 keys differ" in planned


@pytest.mark.e2e
def test_a_new_secret_version_makes_the_worker_read_its_secrets_again_exactly_once(real: Workplace) -> None:
    """The secret is the path of the file that the connector reads, so that its offsets show which value it has."""
    one, two, values = (real.directory / name for name in ("one.txt", "two.txt", "values.properties"))
    for file in (one, two):
        file.write_text("a line\n")
    values.write_text(f"path={one}\n")
    reference = f"'${{file:{values}:path}}'"

    def commit(spec: str) -> None:
        real.commit("orders.yaml", real.source("orders", spec, file=reference, topic=real.name("orders")))

    commit("secretVersion: 1")
    real.apply()
    assert real.config("orders")["file"] == reference.strip("'"), "the reference is stored, and compared, as it is"
    real.await_that(lambda: read(real), lambda files: files == {str(one)})
    plans_nothing_twice(real)
    values.write_text(f"path={two}\n")
    plans_nothing_twice(real)
    assert read(real) == {str(one)}, "the worker does not read the value by itself"
    commit("secretVersion: 2")
    planned = real.run("plan").out
    assert (
        "restart          spec.secretVersion is '2': the worker reads the values of config providers again" in planned
    )
    assert "orders" in real.apply().err
    real.await_that(lambda: read(real), lambda files: files == {str(one), str(two)})
    plans_nothing_twice(real)


def read(at: Workplace) -> set[str]:
    """The files of which the connector has offsets."""
    return {Path(one["partition"]["filename"]).as_posix() for one in at.offsets("orders")}
