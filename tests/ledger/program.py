"""What the tests of the ledger run in processes of their own: `program.py VERB FOLDER [ARGUMENT...]`."""

from __future__ import annotations

import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.world import SystemClock


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def wait_for_start() -> None:
    """All processes of a race are up before the first runs."""
    say("ready")
    sys.stdin.readline()


def open_(folder: Path) -> Ledger:
    return Ledger.open("sqlite:///state.db", folder, None)


def race_open(folder: Path) -> None:
    wait_for_start()
    say(open_(folder).key.hex())


def race_lease(folder: Path) -> None:
    ledger = open_(folder)
    wait_for_start()
    try:
        with ledger.lease("local", SystemClock(), 60):
            say("won")
            sys.stdin.readline()
    except LedgerBusy as busy:
        say(f"lost: {busy}")
        sys.stdin.readline()


def record(folder: Path, prefix: str, count: str) -> None:
    ledger = open_(folder)
    wait_for_start()
    for number in range(int(count)):
        at = datetime.now(UTC)
        ledger.record(Ownership("local", f"{prefix}{number}", Origin.CREATED, "r1", at, applied={"k": "d" * 64}))
        say(f"{prefix}{number}")


def fill(folder: Path) -> None:
    """Write until the system refuses: no file of this process may exceed 200 kB."""
    ledger = open_(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        for number in range(10_000):
            at = datetime.now(UTC)
            ledger.record(Ownership("local", f"n{number}", Origin.CREATED, "r1", at, applied={"k": "d" * 4000}))
            say(f"n{number}")
    except GitopsConnectError as error:
        say(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    verbs = {"race_open": race_open, "race_lease": race_lease, "record": record, "fill": fill}
    verbs[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
