from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.files.small_disk import small_disk
from support.files.tables import rows
from support.git.opening import Open, contents
from support.git.upstream import Content, Link, Path_, Submodule, Upstream, run_git

from gitops_connect.errors import SourceRefused, SourceUnavailable
from gitops_connect.model.clock import Duration
from gitops_connect.model.diagnostics import Severity
from gitops_connect.safe_files import has_more_space
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.checkout import Checkout, Source
from gitops_connect.source.repository import Repository, locked

pytestmark = pytest.mark.slow


def test_files_of_a_branch_are_read_with_gits_own_ids_and_followed(upstream: Upstream, open_repository: Open) -> None:
    files: dict[Path_, Content] = {"b.yaml": "b: 1\n", "a/x.json": b"\xff\n\n", "a/empty.yaml": ""}
    revision = upstream.commit(files)
    source: Source = open_repository()
    checkout = source.fetch()
    assert checkout.revision == revision
    assert contents(checkout) == {"a/empty.yaml": b"", "a/x.json": b"\xff\n\n", "b.yaml": b"b: 1\n"}
    ids = [upstream.git("rev-parse", f"main:{entry.path}") for entry in checkout.entries]
    assert [entry.blob_id for entry in checkout.entries] == ids
    assert checkout.complete
    assert checkout.rewritten is None
    assert source.fetch() is checkout
    upstream.commit({"b.yaml": "b: 1\n", "y.yaml": "2"})
    second = source.fetch()
    assert contents(second) == {"b.yaml": b"b: 1\n", "y.yaml": b"2"}
    assert second.rewritten is None
    assert contents(checkout).keys() == {"a/empty.yaml", "a/x.json", "b.yaml"}


def test_a_force_push_to_an_old_commit_is_followed_and_reported_once(upstream: Upstream, open_repository: Open) -> None:
    after = upstream.commit({"x.yaml": "1"})
    upstream.clock += 100 * 24 * 3600
    before = upstream.commit({"x.yaml": "2"})
    source = open_repository()
    source.fetch()
    upstream.git("update-ref", "refs/heads/main", after)
    checkout = source.fetch()
    assert (checkout.revision, checkout.rewritten, contents(checkout)) == (after, before, {"x.yaml": b"1"})
    assert source.fetch().rewritten is None


def test_many_commits_at_once_and_a_merge_are_not_a_force_push(upstream: Upstream, open_repository: Open) -> None:
    upstream.commit({"x.yaml": "0"})
    source = open_repository()
    source.fetch()
    for number in range(5):
        upstream.clock += 3600
        upstream.commit({"x.yaml": str(number)})
    tree = upstream.git("rev-parse", "main^{tree}")
    side = upstream.commit({"z.yaml": "side"}, branch="side")
    merge = upstream.git("commit-tree", tree, "-p", side, "-p", "main", "-m", "merge")
    upstream.git("update-ref", "refs/heads/main", merge)
    checkout = source.fetch()
    assert (checkout.revision, checkout.rewritten) == (merge, None)


@pytest.mark.parametrize("annotated", [True, False])
def test_a_tag_is_followed_to_its_commit(upstream: Upstream, open_repository: Open, *, annotated: bool) -> None:
    first = upstream.commit({"x.yaml": "1"})
    options = ["-a", "-m", "release"] if annotated else []
    upstream.git("tag", *options, "v1")
    source = open_repository(tag="v1")
    assert source.fetch().revision == first
    second = upstream.commit({"x.yaml": "2"})
    assert source.fetch().revision == first
    upstream.git("tag", "-f", *options, "v1")
    assert source.fetch().revision == second


def test_another_process_continues_with_the_last_good_revision(upstream: Upstream, open_repository: Open) -> None:
    revision = upstream.commit({"x.yaml": "1"})
    contents(open_repository().fetch())
    upstream.directory.rename(upstream.directory.with_name("gone.git"))
    source = open_repository()
    with pytest.raises(SourceRefused, match="the path does not exist"):
        source.fetch()
    last_good = source.last_good
    assert last_good is not None
    assert (last_good.revision, contents(last_good)) == (revision, {"x.yaml": b"1"})
    of_another_branch = open_repository(branch="other")
    with pytest.raises(SourceRefused):
        of_another_branch.fetch()
    assert of_another_branch.last_good is None


def test_only_the_directory_is_read_and_if_it_is_missing_the_last_good_revision_is_kept(
    upstream: Upstream, open_repository: Open
) -> None:
    good = upstream.commit(
        {"team/a/x.yaml": "1", "team/.hidden.yaml": "2", "other.yaml": "3", "team/l.yaml": Link("../other.yaml")}
    )
    source = open_repository(path="./team/")
    checkout = source.fetch()
    assert contents(checkout) == {"a/x.yaml": b"1"}
    assert [(item.rule, item.location.file) for item in checkout.diagnostics] == [("source/link-out-of-tree", "l.yaml")]
    upstream.commit({"teams/x.yaml": "1"})
    with pytest.raises(
        SourceRefused, match=r"has no directory 'team'; its root contains the directories 'teams': check"
    ):
        source.fetch()
    for again in (source, open_repository(path="team")):
        assert again.last_good is not None
        assert again.last_good.revision == good


def test_unsupported_links_names_and_submodules_are_reported(upstream: Upstream, open_repository: Open) -> None:
    upstream.commit(
        {
            "x.yaml": "1",
            "in.yaml": Link("x.yaml"),
            "out.yaml": Link("../../etc/passwd"),
            "line\nend.yaml": "2",
            b"\xff.yaml": "3",
            "sub": Submodule("0123456789" * 4),
        }
    )
    checkout = open_repository().fetch()
    assert contents(checkout) == {"in.yaml": b"1", "x.yaml": b"1"}
    assert [(item.rule, item.location.file, item.severity) for item in checkout.diagnostics] == [
        ("source/file-name", "\\xff.yaml", Severity.ERROR),
        ("source/file-name", "line\\nend.yaml", Severity.ERROR),
        ("source/link-out-of-tree", "out.yaml", Severity.ERROR),
        ("source/submodule", "sub", Severity.WARNING),
    ]
    assert not checkout.complete


@pytest.mark.parametrize("files", [b"100644 blob %s\tx.yaml\n", b""])
def test_a_tree_of_endless_files_or_directories_is_refused_at_once(
    upstream: Upstream, open_repository: Open, files: bytes
) -> None:
    """Of 10^10 directories, with a file in each or without any file."""
    blob_id = upstream.git("hash-object", "-w", "--stdin").encode()
    tree = upstream.git("mktree", stdin=files % blob_id if files else b"")
    for _ in range(10):
        tree = upstream.git("mktree", stdin="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    upstream.git("update-ref", "refs/heads/main", upstream.git("commit-tree", tree, "-m", "10^10 directories"))
    with pytest.raises(SourceRefused, match="more than 100,000 files and directories"):
        open_repository().fetch()


def test_an_empty_repository_is_named(upstream: Upstream, open_repository: Open, clone: Path) -> None:
    with pytest.raises(SourceRefused, match="the repository is empty: push a commit to branch 'main'"):
        open_repository().fetch()
    revision = upstream.commit({})
    assert open_repository().fetch().revision == revision
    assert not list(clone.parent.glob("*.partial"))


@pytest.mark.parametrize(("settings", "said"), rows(__file__, "missing"))
def test_what_the_repository_does_not_have_is_refused_with_the_nearest(
    upstream: Upstream, open_repository: Open, settings: dict[str, str], said: str
) -> None:
    upstream.commit({"x.yaml": "1", "link": Link("other"), "other/x.yaml": "1"}, branch="production")
    upstream.git("tag", "main", "production")
    upstream.git("tag", "file", "production:x.yaml")
    with pytest.raises(SourceRefused, match=said):
        open_repository(**settings).fetch()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_repository_of_another_user_is_refused_with_what_to_do(upstream: Upstream, open_repository: Open) -> None:
    upstream.commit({"x.yaml": "1"})
    os.chown(upstream.directory, 12345, 12345)
    with pytest.raises(SourceRefused, match=r"belongs to another user.*run gitops-connect as its owner"):
        open_repository().fetch()


def test_a_shallow_checkout_with_a_work_tree_is_accepted(
    upstream: Upstream, tmp_path: Path, open_repository: Open
) -> None:
    upstream.commit({"x.yaml": "0"})
    upstream.commit({"x.yaml": "1"})
    run_git("clone", "--quiet", "--depth=1", f"file://{upstream.directory}", str(tmp_path / "shallow"))
    (tmp_path / "shallow" / "x.yaml").write_text("not committed")
    assert contents(open_repository(f"file://{tmp_path}/shallow").fetch()) == {"x.yaml": b"1"}


def test_no_configuration_or_hook_of_the_user_is_run(
    upstream: Upstream, tmp_path: Path, open_repository: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch = tmp_path / "touch.sh"
    touch.write_text(f'#!/bin/sh\ntouch "{tmp_path}/was-run"\n')
    touch.chmod(0o755)
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).symlink_to(touch)
    (tmp_path / ".gitconfig").write_text(
        f"[init]\n templateDir = {hooks.parent}\n[core]\n fsmonitor = {touch}\n sshCommand = {touch}\n"
        f" hooksPath = {hooks}\n[uploadpack]\n packObjectsHook = {touch}\n[credential]\n helper = {touch}\n"
        f'[url "{tmp_path}/elsewhere/"]\n insteadOf = {upstream.directory.parent}/\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    upstream.commit({"x.yaml": "1"})
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_SHALLOW_FILE"):  # a Git hook has such variables
        monkeypatch.setenv(name, str(tmp_path / "elsewhere.git" / name))
    source = open_repository()
    source.fetch()
    upstream.commit({"x.yaml": "2"})
    assert contents(source.fetch()) == {"x.yaml": b"2"}
    assert not (tmp_path / "was-run").exists()


def test_a_branch_named_like_an_option_is_only_a_branch(upstream: Upstream, open_repository: Open) -> None:
    upstream.commit({"x.yaml": "1"}, branch="a/--upload-pack=touch")
    assert contents(open_repository(branch="a/--upload-pack=touch").fetch()) == {"x.yaml": b"1"}


def test_ssh_is_started_with_the_options_of_gitops_connect_only(
    upstream: Upstream, tmp_path: Path, open_repository: Open, fake_program: Callable[[str, str], None]
) -> None:
    key = tmp_path / "my key"
    key.touch()
    fake_program("ssh", f'printf "%s\\n" "$@" >"{tmp_path}/words"\nfor last; do :; done\nexec sh -c "$last"')
    upstream.commit({"x.yaml": "1"})
    assert contents(open_repository(f"git@h.invalid:{upstream.directory}", ssh_key=key).fetch()) == {"x.yaml": b"1"}
    words = (tmp_path / "words").read_text().splitlines()
    assert words[words.index("-i") + 1] == str(key)
    assert "-oBatchMode=yes" in words
    assert "git@h.invalid" in words


def test_two_processes_take_turns(upstream: Upstream, clone: Path, open_repository: Open) -> None:
    upstream.commit({"x.yaml": "1"})
    with locked(clone.with_name("clone.lock"), 0), pytest.raises(SourceUnavailable, match="another process"):
        open_repository(timeout=Duration(0.2)).fetch()
    assert contents(open_repository().fetch()) == {"x.yaml": b"1"}  # git gets the timeout, too


def test_a_full_disk_is_named_and_keeps_nothing_that_is_incomplete(
    upstream: Upstream, clone: Path, open_repository: Open, fake_program: Callable[[str, str], None]
) -> None:
    upstream.commit({"x.yaml": "1"})
    source = open_repository()
    before = source.fetch()
    upstream.commit({"x.yaml": "2"})
    left = clone / "objects" / "pack" / "tmp_pack_1"
    real, full = shutil.which("git"), clone.with_name("full")
    full.touch()
    fails = f'case "$*" in *fetch*) echo x >{left}; exec cat /dev/zero >/dev/full;; esac'
    fake_program("git", f'if [ -e {full} ]; then {fails}; fi; exec {real} "$@"')
    with pytest.raises(SourceUnavailable, match=rf"no space left on {clone.parent} \(\d+ bytes free\)") as raised:
        source.fetch()
    assert raised.value.full_disk is not None
    assert not left.exists()
    assert source.last_good == before
    full.unlink()
    assert contents(source.fetch()) == {"x.yaml": b"2"}


def test_the_first_clone_on_a_full_disk(upstream: Upstream, tmp_path: Path) -> None:
    upstream.commit({"x.yaml": "1"})
    with small_disk(tmp_path / "disk") as disk:
        repository = Repository(RepositorySettings(url=str(upstream.directory)), disk.directory / "clones" / "clone")
        disk.fill()
        with pytest.raises(SourceUnavailable, match=r"no space left on .*disk/clones \(0 bytes free\)") as raised:
            repository.fetch()
        assert raised.value.full_disk is not None
        assert not has_more_space(raised.value.full_disk)
        assert not [*disk.directory.rglob("*.partial")]
        disk.free()
        assert has_more_space(raised.value.full_disk)
        assert contents(repository.fetch()) == {"x.yaml": b"1"}


def test_leftovers_of_a_killed_process_are_removed(upstream: Upstream, clone: Path, open_repository: Open) -> None:
    partial = clone.with_name("clone.partial")
    partial.mkdir(parents=True)
    (partial / "HEAD").write_text("half")
    upstream.commit({"x.yaml": "1"})
    open_repository().fetch()
    assert not partial.exists()
    for name in ("shallow.lock", "config.lock", "packed-refs.lock", "refs/gitops-connect/fetched.lock"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).touch()
    upstream.commit({"x.yaml": "2"})
    assert contents(open_repository().fetch()) == {"x.yaml": b"2"}


def empty_every_object(clone: Path) -> None:
    for file in [*(clone / "objects").rglob("*")]:
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"")


def spoil_the_configuration(clone: Path) -> None:
    (clone / "config").write_text("[core\n")


DAMAGE = [
    empty_every_object,
    spoil_the_configuration,
    lambda clone: shutil.rmtree(clone / "objects"),
    lambda clone: (clone / "HEAD").write_text("ref: re"),
]


@pytest.mark.parametrize(("spoil", "moved"), [*((spoil, False) for spoil in DAMAGE), (empty_every_object, True)])
def test_a_damaged_clone_is_cloned_again(
    spoil: Callable[[Path], object], upstream: Upstream, clone: Path, open_repository: Open, *, moved: bool
) -> None:
    upstream.commit({"x.yaml": "1"})
    contents(open_repository().fetch())
    spoil(clone)
    if moved:
        upstream.commit({"x.yaml": "2"})
    assert contents(open_repository().fetch()) == {"x.yaml": b"2" if moved else b"1"}


def test_a_damaged_clone_that_cannot_be_cloned_again_says_so(
    upstream: Upstream, clone: Path, open_repository: Open
) -> None:
    upstream.commit({"x.yaml": "1"})
    open_repository().fetch()
    spoil_the_configuration(clone)
    in_the_way = clone.with_name("clone.old")
    in_the_way.touch()
    with pytest.raises(SourceUnavailable, match=r"cannot write a clone to .*Not a directory: check the disk"):
        open_repository().fetch()
    in_the_way.unlink()
    (upstream.directory / "HEAD").unlink()
    source = open_repository()
    with pytest.raises(
        SourceRefused, match=r"the repository does not exist.*is damaged, and could not be cloned again"
    ):
        source.fetch()
    assert source.last_good is None
    assert not clone.with_name("clone.partial").exists()


@pytest.mark.parametrize("read", [contents, lambda checkout: list(checkout.stream(checkout.entries[0]))])
def test_damage_that_is_found_while_reading_is_repaired_by_the_next_fetch(
    upstream: Upstream, clone: Path, open_repository: Open, read: Callable[[Checkout], object]
) -> None:
    upstream.git("config", "uploadpack.allowFilter", "false")
    upstream.commit({"x.yaml": "1", "y.yaml": "2"})
    source = open_repository()
    checkout = source.fetch()
    empty_every_object(clone)
    with pytest.raises(SourceUnavailable, match="is damaged and will be cloned again at the next fetch"):
        read(checkout)
    for again in (source, open_repository()):
        assert contents(again.fetch()) == {"x.yaml": b"1", "y.yaml": b"2"}
        assert read(again.fetch())


def test_a_changed_byte_of_the_clone_is_repaired_by_the_second_fetch(
    upstream: Upstream, clone: Path, open_repository: Open
) -> None:
    upstream.commit({f"{number}.yaml": f"n: {number}\n" for number in range(5)})
    wanted = contents(open_repository().fetch())
    (index,) = [file for file in clone.rglob("*.idx") if file.stat().st_size > 1200]
    whole = index.read_bytes()
    for place in (0, 9, 1000, 1040, 1080, 1100, len(whole) - 60):
        spoiled = bytearray(whole)
        spoiled[place] ^= 1
        index.chmod(0o600)
        index.write_bytes(spoiled)
        source = open_repository()
        try:
            assert contents(source.fetch()) == wanted
        except SourceUnavailable:
            assert contents(source.fetch()) == wanted
        (index,) = [file for file in clone.rglob("*.idx") if file.stat().st_size > 1200][:1]
        whole = index.read_bytes()


def test_a_file_of_any_size_is_streamed_and_fetched_if_necessary(upstream: Upstream, open_repository: Open) -> None:
    long = "".join(f"{number}\n" for number in range(500_000))
    upstream.commit({"a.jsonl": long, "b.jsonl": "", "c.jsonl": "short"})
    checkout = open_repository().fetch()
    pieces = [list(checkout.stream(entry)) for entry in checkout.entries]
    assert [b"".join(one).decode() for one in pieces] == [long, "", "short"]
    assert [len(one) for one in pieces] == [4, 0, 1]
    assert [len(blob.content) for blob in checkout.blobs(checkout.entries, at_most=10)] == [10, 0, 5]


def test_thousands_of_files_go_through_one_process_and_reading_may_stop_early(
    upstream: Upstream, open_repository: Open
) -> None:
    files: dict[Path_, Content] = {f"{number:05}.yaml": f"n: {number}\n" for number in range(3000)}
    upstream.commit(files)
    checkout = open_repository().fetch()
    assert list(contents(checkout).values()) == [str(text).encode() for text in files.values()]
    blobs = checkout.blobs(checkout.entries)
    assert next(blobs).path == "00000.yaml"
    blobs.close()  # type: ignore[attr-defined]  # it is a generator
    assert checkout.read(checkout.entries[-1]) == b"n: 2999\n"


def test_a_cache_that_cannot_be_created_is_named(upstream: Upstream, tmp_path: Path) -> None:
    upstream.commit({"x.yaml": "1"})
    (tmp_path / "file").touch()
    source = Repository(RepositorySettings(url=str(upstream.directory)), tmp_path / "file" / "clone")
    with pytest.raises(SourceRefused, match=r"cannot write a clone to .*GITOPS_CONNECT_CACHE"):
        source.fetch()


def test_each_process_sees_every_change_even_if_another_fetched_it_first(
    upstream: Upstream, open_repository: Open
) -> None:
    upstream.commit({"x.yaml": "1"})
    first, second = open_repository(), open_repository()
    before = first.fetch().revision
    assert second.fetch().revision == before
    upstream.commit({"x.yaml": "2"}, rewrite=True)
    assert first.fetch().rewritten == before
    assert second.fetch().rewritten == before
    again = second.fetch()
    assert (again.rewritten, contents(again)) == (None, {"x.yaml": b"2"})


def test_a_child_that_outlives_its_parent_keeps_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    with locked(file, 0) as held:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(held,))
    with pytest.raises(SourceUnavailable), locked(file, 0):
        pass
    child.communicate()
    with locked(file, 0):
        pass
