"""The ledger and its key are not in a Git work tree, where `git add -A` would publish them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from acceptance.workplace import SOURCE, Workplace
from support.files.document_files import connector

from gitops_connect.settings.ledger_place import chosen_place, place_outside

NOTHING = "No changes."


@pytest.fixture
def tree(at: Workplace, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """The settings are in a Git work tree, next to the documents."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    subprocess.run(["git", "init", "--quiet", str(at.directory)], check=True)
    at.write("a.yaml", connector("a", f"  class: {SOURCE}\n  config: {{topic: x, file: /x}}\n"))
    return at


def outside(at: Workplace) -> Path:
    found = place_outside(at.directory)
    assert found is not None
    return found


@pytest.mark.slow
def test_a_new_ledger_is_outside_of_the_work_tree(tree: Workplace) -> None:
    note = f"note: a new ledger is created: {outside(tree)}\n"
    tree.run("apply", str(tree.repository), "--yes").expect(0, err=note)
    assert sorted(one.name for one in outside(tree).parent.iterdir()) == ["state.db", "state.db.key"]
    assert outside(tree).parent.stat().st_mode & 0o077 == 0
    assert not list(tree.directory.glob("state*"))
    ran = tree.run("plan", str(tree.repository)).expect(0, out=NOTHING)
    assert "the ledger" not in ran.err
    shutil.rmtree(tree.directory / ".git")
    tree.run("plan", str(tree.repository)).expect(0, out=NOTHING)
    assert not list(tree.directory.glob("state*")), "the ledger is still used when there is no work tree any more"


@pytest.mark.slow
def test_an_older_ledger_in_the_work_tree_is_used_until_it_is_moved(tree: Workplace) -> None:
    shutil.move(tree.directory / ".git", tree.directory / "aside")
    assert "the ledger" not in tree.run("apply", str(tree.repository), "--yes").expect(0).err
    shutil.move(tree.directory / "aside", tree.directory / ".git")
    here = tree.directory / "state.db"
    advice = f"stop gitops-connect, and move state.db and state.db.key to {outside(tree).parent}"
    warning = f"warning: the ledger {here} is in the Git work tree {tree.directory}: {advice}\n"
    tree.run("plan", str(tree.repository)).expect(0, out=NOTHING, err=warning)
    tree.run("doctor").expect(out=advice)
    assert not outside(tree).exists()
    outside(tree).parent.mkdir(parents=True)
    for name in ("state.db", "state.db.key"):
        shutil.move(tree.directory / name, outside(tree).parent)
    assert "the ledger" not in tree.run("plan", str(tree.repository)).expect(0, out=NOTHING).err
    shutil.copy(outside(tree), here)
    tree.run("plan", str(tree.repository)).expect(64, err=f"there are two ledgers, {here} and {outside(tree)}: keep")


@pytest.mark.slow
def test_import_lets_git_ignore_a_ledger_that_the_settings_name(tree: Workplace) -> None:
    tree.settings(more='[state]\nurl = "sqlite:///own.db"')
    advice = f"and Git does not ignore it: add /own.db* to {tree.directory}/.gitignore"
    tree.run("apply", str(tree.repository), "--yes").expect(0, err=advice)
    imported = ("import", "--out", str(tree.directory / "documents"), "--force")
    (tree.directory / ".gitignore").write_text("*.tmp")
    tree.run(*imported).expect(0, err=f"note: {tree.directory}/.gitignore lets Git ignore the ledger now")
    assert (tree.directory / ".gitignore").read_text() == "*.tmp\n/own.db*\n"
    assert ".gitignore" not in tree.run(*imported).expect(0).err
    assert "the ledger" not in tree.run("plan", str(tree.repository)).expect(0, out=NOTHING).err
    (tree.directory / ".gitignore").unlink()
    (tree.directory / ".gitignore").symlink_to("elsewhere")
    tree.run(*imported).expect(0, err=f"{advice}; .gitignore cannot be written: ")
    subprocess.run(["git", "-C", tree.directory, "add", "--force", "own.db"], check=True)
    (tree.directory / ".gitignore").unlink()
    (tree.directory / ".gitignore").write_text("own.db*\n")
    tree.run("plan", str(tree.repository)).expect(0, err=advice)


def test_a_user_without_a_home_keeps_the_ledger_next_to_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr("gitops_connect.settings.ledger_place.user_state_path", lambda _: Path("~/.local/state"))
    assert chosen_place(tmp_path) == tmp_path / "state.db"


def test_each_directory_has_its_own_ledger(tmp_path: Path) -> None:
    names = {place_outside(tmp_path / one) for one in ("a/b", "b/b", "b/b\u00e9 \n", "b")}
    assert len(names) == 4
    (tmp_path / "link").symlink_to(tmp_path / "a/b")
    assert place_outside(tmp_path / "link") == place_outside(tmp_path / "a/b")
    assert place_outside(Path("/")) is not None
