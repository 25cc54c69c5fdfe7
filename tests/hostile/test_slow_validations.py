"""10,000 new connectors for a cluster that validates slowly: `validate_timeout` ends that, and the plan is made."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from standin.faults import Parts
from standin.raw_answers import ALWAYS, drops, endless, head, whole
from support.terminal import Terminal

from hostile.place import Bounds, Place, document, graded
from hostile.test_connect_answers import VALIDATE
from hostile.test_connect_values import verdict

COUNT = 10_000
SETTINGS = """[clusters.hostile]
url = "{hostile}"
timeout = "1h"
validate_timeout = "3s"
max_answer = "1g"
[clusters.fine]
url = "{fine}"
"""
"""A request that `validate_timeout` does not end takes longer than any limit here."""


BOUNDS = Bounds(256, 100)
NEVER = partial(drops, b"")
SLOW = whole(json.dumps(verdict()).encode())

ROWS: dict[str, tuple[str, Parts, float]] = {
    "an answer in a second": ("plan repository", SLOW, 0.5),
    "an answer in a second, validate": ("validate repository", SLOW, 0.5),
    "no answer": ("plan repository", NEVER, 3600),
    "no answer, validate -o json": ("validate repository -o json", NEVER, 3600),
    "no answer, plan -o json": ("plan repository -o json", NEVER, 3600),
    "a byte now and then": ("plan repository", partial(drops, head(200, "Content-Length: 100000")), 0.5),
    "64 KiB now and then": ("plan repository", endless, 0.1),
}
"""Commands, with the answer to each validation and the seconds before each part of it."""


def documents(count: int) -> str:
    return "---\n".join(document(f"c{number:05}") for number in range(count))


@pytest.mark.thorough
@pytest.mark.parametrize("row", graded(ROWS))
def test_many_new_connectors(row: tuple[str, Parts, float], tmp_path: Path) -> None:
    command, parts, pause = row
    with StandIn() as hostile, StandIn() as fine:
        place = Place(tmp_path)
        place.settings(SETTINGS.format(hostile=hostile.url, fine=fine.url))
        place.write("clusters/hostile/a.yaml", documents(COUNT))
        place.write("clusters/fine/a.yaml", document())
        hostile.stream("PUT", VALIDATE, parts, times=ALWAYS, pause=pause)
        ran = place.run(*command.split(), bounds=BOUNDS)
        assert fine.count("PUT", VALIDATE) == 1, "the other cluster is asked"
    assert ran.code == 0
    assert "Connect did not check this config and 9,9" in ran.said
    assert "validate_timeout in [clusters.hostile] (3s) has passed" in ran.said
    assert "c09999" in ran.out or "validate" in command


@pytest.mark.slow
def test_the_validation_of_many_connectors_is_shown_on_a_terminal(tmp_path: Path) -> None:
    with StandIn() as standin:
        at = Workplace(tmp_path, (standin.url,))
        at.settings('validate_timeout = "10s"')
        (at.repository / "a.yaml").write_text(documents(200))
        standin.stream("PUT", VALIDATE, SLOW, times=ALWAYS, pause=0.5)
        with Terminal(at, ["plan", str(at.repository)]) as terminal:
            terminal.wait("validating configs on Connect: ")
            assert terminal.code() == 0
