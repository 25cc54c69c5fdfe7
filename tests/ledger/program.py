"""What the tests of the ledger run in separate processes: `program.py VERB DIRECTORY [ARGUMENT...]`."""

from __future__ import annotations

import resource
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, event

from gitops_connect.errors import GitopsConnectError, LedgerBusy, OperationSettled
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.runtime import SystemClock

LOCAL = ClusterName("local")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def wait_for_start() -> None:
    """Wait for the test: all processes of a race have started before the first continues."""
    say("ready")
    sys.stdin.readline()


def open_(directory: Path) -> Ledger:
    return Ledger.open("sqlite:///state.db", directory, None)


def race_open(directory: Path) -> None:
    wait_for_start()
    say(open_(directory).key.hex())


def race_lease(directory: Path) -> None:
    ledger = open_(directory)
    wait_for_start()
    try:
        with ledger.lease("local", SystemClock(), 60):
            say("won")
            sys.stdin.readline()
    except LedgerBusy as busy:
        say(f"lost: {busy}")
        sys.stdin.readline()


def record(directory: Path, prefix: str, count: str) -> None:
    ledger = open_(directory)
    wait_for_start()
    for number in range(int(count)):
        at = datetime.now(UTC)
        ledger.record(Ownership("local", f"{prefix}{number}", Origin.CREATED, "r1", at, applied={"k": "d" * 64}))
        say(f"{prefix}{number}")


def change(number: int, offsets: Offsets, digest: str = "d") -> OffsetChange:
    name, connector = OffsetChangeName(f"n{number}"), ConnectorName("orders")
    return OffsetChange(name, connector, OffsetChangeKind.ALTER, Digest(digest), Revision("r1"), offsets)


def positions(count: int) -> Offsets:
    """Offsets that hardly compress, so that a few of them do not fit into the database's cache."""
    return {
        partition_text({"filename": secrets.token_hex(32)}): offset_text({"position": number})
        for number in range(count)
    }


def operate(directory: Path) -> None:
    """Begin and settle one offset change after the other, and report each step."""
    offset_changes = open_(directory).offset_changes
    wait_for_start()
    for number in range(10_000):
        before = positions(20)
        offset_changes.begin(LOCAL, change(number, before), before, datetime.now(UTC))
        say(f"begun n{number}")
        offset_changes.settle(LOCAL, OffsetChangeName(f"n{number}"), before, "", datetime.now(UTC))
        say(f"settled n{number}")


def race_begin(directory: Path, digest: str) -> None:
    """Begin the same offset change as others do at the same moment."""
    offset_changes = open_(directory).offset_changes
    wait_for_start()
    try:
        offset_changes.begin(LOCAL, change(0, positions(1), digest), positions(1), datetime.now(UTC))
        say("begun")
    except OperationSettled:
        say("refused")


def hang(directory: Path, step: str, count: str) -> None:
    """Run one step, and pause just before it becomes durable."""
    offset_changes, at = open_(directory).offset_changes, datetime.now(UTC)
    event.listen(Engine, "commit", lambda _connection: wait_for_start())
    many = positions(int(count))
    if step == "begin":
        offset_changes.begin(LOCAL, change(0, many), many, at)
    elif step == "settle":
        offset_changes.settle(LOCAL, OffsetChangeName("n0"), many, "w" * 100 * int(count), at)


def fill_offset_changes(directory: Path) -> None:
    """Begin until the system refuses: no file of this process may exceed 400 kB."""
    offset_changes = open_(directory).offset_changes
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    try:
        for number in range(10_000):
            before = positions(300)
            offset_changes.begin(LOCAL, change(number, before), before, datetime.now(UTC))
            say(f"n{number}")
    except GitopsConnectError as error:
        say(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    verbs = (race_open, race_lease, record, operate, race_begin, hang, fill_offset_changes)
    {verb.__name__: verb for verb in verbs}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
