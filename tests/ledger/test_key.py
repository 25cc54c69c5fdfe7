from __future__ import annotations

import stat
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.ledger import Ledger

pytestmark = pytest.mark.slow

URL = "sqlite:///state.db"
GIVEN = b"a key of the operator, 32 bytes."


def test_the_key_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    key = Ledger.open(URL, tmp_path, None).key
    file = tmp_path / "state.db.key"
    assert len(key) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Ledger.open(URL, tmp_path, None).key == key
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.db", "state.db.key"]
    assert Ledger.open("sqlite:///other.db", tmp_path, None).key != key


def test_a_given_key_is_used_and_no_file_is_made(tmp_path: Path) -> None:
    assert Ledger.open(URL, tmp_path, GIVEN).key == GIVEN
    assert Ledger.open(URL, tmp_path, GIVEN).key == GIVEN
    assert not (tmp_path / "state.db.key").exists()
    with pytest.raises(LedgerUnusable, match="a different key"):
        Ledger.open(URL, tmp_path, GIVEN[::-1])


def test_a_key_file_that_is_gone_is_made_anew_only_in_the_documented_way(tmp_path: Path) -> None:
    old = Ledger.open(URL, tmp_path, None).key
    (tmp_path / "state.db.key").unlink()
    with pytest.raises(LedgerUnusable, match=r"state\.db\.key is missing"):
        Ledger.open(URL, tmp_path, None)
    assert not (tmp_path / "state.db.key").exists()
    text = (Path(__file__).parents[2] / "docs/reference/ledger.md").read_text(encoding="utf-8")
    script = text.partition("```sql\n")[2].partition("```")[0]
    with closing(connect(tmp_path / "state.db")) as database:
        database.executescript(script)
    assert Ledger.open(URL, tmp_path, None).key != old


def test_a_key_left_by_a_start_that_was_killed_is_used(tmp_path: Path) -> None:
    (tmp_path / "state.db.key").write_text("ab" * 32 + "\n")
    (tmp_path / "state.db.key").chmod(0o600)
    assert Ledger.open(URL, tmp_path, None).key == b"\xab" * 32


@pytest.mark.parametrize("content", ["", "ab" * 31, "no hex", "ab" * 33])
def test_a_damaged_key_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    Ledger.open(URL, tmp_path, None)
    (tmp_path / "state.db.key").write_text(content)
    with pytest.raises(LedgerUnusable, match="damaged"):
        Ledger.open(URL, tmp_path, None)
    assert (tmp_path / "state.db.key").read_text() == content


@pytest.mark.parametrize(("mode", "accepted"), [(0o600, True), (0o660, True), (0o604, False), (0o666, False)])
def test_a_key_that_everybody_may_read_is_refused(tmp_path: Path, mode: int, accepted: bool) -> None:
    Ledger.open(URL, tmp_path, None)
    (tmp_path / "state.db.key").chmod(mode)
    if accepted:
        Ledger.open(URL, tmp_path, None)
    else:
        with pytest.raises(LedgerUnusable, match="chmod 600"):
            Ledger.open(URL, tmp_path, None)


def test_a_key_that_is_no_file_is_refused(tmp_path: Path) -> None:
    Ledger.open(URL, tmp_path, None)
    key = tmp_path / "state.db.key"
    key.unlink()
    key.mkdir(0o700)
    with pytest.raises(LedgerUnusable, match=r"cannot read the key \S+/state\.db\.key: it is a directory"):
        Ledger.open(URL, tmp_path, None)


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[state\] key: expected at least 16 bytes"):
        Ledger.open(URL, tmp_path, b"hunter2")
    assert not (tmp_path / "state.db").exists()
