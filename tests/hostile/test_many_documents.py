"""Documents whose comparison with one another takes time: plans take seconds, and so does the plan of a pull request.

A pull request is planned by the function that `plan` calls (`reconcile.propose`).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from acceptance.workplace import change
from standin.connect import StandIn

from hostile.place import Bounds, Place, document, graded

BOUNDS = Bounds(512, 100)
RESET = "operation: reset\nacknowledge: [reset]\nreason: a test"


def names(count: int, seed: int) -> list[str]:
    """Names of 90 characters, of the same ten letters."""
    chance = random.Random(seed)  # noqa: S311 - the same names each time
    return ["".join(chance.choices("abcdefghij", k=90)) for _ in range(count)]


def undeclared(count: int) -> list[str]:
    """Connectors with long names, and as many offset changes of other connectors."""
    connectors = map(document, names(count, 1))
    changes = (change(f"change-{number}", name, RESET) for number, name in enumerate(names(count, 2)))
    return [*connectors, *changes]


ROWS = {
    "200 undeclared connectors": (undeclared(200), "is not declared"),
    "1,000 undeclared connectors": (undeclared(1_000), "is not declared"),
    "5,000 documents of one connector": ([document()] * 5_000, "and 4,994 more"),
}
"""Documents, and a part of the plan."""


@pytest.mark.parametrize("row", graded(ROWS))
def test_many_documents(row: tuple[list[str], str], tmp_path: Path) -> None:
    documents, says = row
    with StandIn() as worker:
        place = Place(tmp_path)
        place.settings(f'[clusters.local]\nurl = "{worker.url}"\n')
        for number, content in enumerate(documents):
            place.write(f"clusters/local/{number}.yaml", content)
        ran = place.run("plan", "repository", bounds=BOUNDS)
    assert says in ran.said
