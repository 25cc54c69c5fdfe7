"""The merge of a pull request into its target branch, by a real Git over HTTP, in a clone of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git.http_server import GitServer
from support.git.opening import Open, contents
from support.git.upstream import Content, Link, Submodule, Upstream

from gitops_connect.errors import SourceRefused, SourceUnavailable, UsageError
from gitops_connect.model.clock import Duration
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.merge_result import MergeConflict, MergeResult

pytestmark = pytest.mark.slow

LINES = "".join(f"line {number}\n" for number in range(20))
HEAD = "refs/pull/7/head"
Merge = Callable[..., MergeResult]


@pytest.fixture
def merge(server: GitServer, clone: Path) -> Merge:
    """Open the merge of a head over HTTP; each call is like a new process."""

    def opened(head_ref: str = HEAD, **settings: object) -> MergeResult:
        settings.setdefault("timeout", Duration(20))
        return MergeResult(RepositorySettings(url=f"{server.url}/o.git", **settings), clone, head_ref)  # type: ignore[arg-type]  # settings of several types

    return opened


def push(upstream: Upstream, files: dict[str, Content], *, to: str = HEAD, start: str | None = None) -> str:
    """Commit these files for a pull request, on top of `start` or of its last commit, and return the commit."""
    if start is not None:
        upstream.set_branch("topic", start)
    commit = upstream.commit({**files}, "topic")
    upstream.git("update-ref", to, commit)
    upstream.git("update-ref", "-d", "refs/heads/topic")
    return commit


def grow(upstream: Upstream, count: int, files: dict[str, str]) -> None:
    for number in range(count):
        upstream.commit({**files, "count": str(number)})


def test_changes_of_both_sides_are_merged_and_the_branch_stays_as_it_is(
    upstream: Upstream, server: GitServer, merge: Merge, open_repository: Open, clone: Path
) -> None:
    start = upstream.commit({"a.yaml": LINES, "b.yaml": "1", "old.yaml": LINES * 2})
    head = push(
        upstream, {"a.yaml": LINES.replace("line 2\n", "theirs\n"), "b.yaml": "1", "new.yaml": LINES * 2}, start=start
    )
    repository = open_repository(f"{server.url}/o.git")
    tip = upstream.commit({"a.yaml": LINES.replace("line 17\n", "ours\n"), "b.yaml": "2", "old.yaml": LINES * 2})
    before = repository.fetch()
    refs = subprocess.run(["git", "-C", clone, "for-each-ref"], capture_output=True, check=True).stdout
    merged = merge().fetch()
    assert merged.revision == head
    assert (merged.author, merged.subject) == ("A", "x")
    both = LINES.replace("line 2\n", "theirs\n").replace("line 17\n", "ours\n")
    assert contents(merged) == {"a.yaml": both.encode(), "b.yaml": b"2", "new.yaml": (LINES * 2).encode()}
    assert subprocess.run(["git", "-C", clone, "for-each-ref"], capture_output=True, check=True).stdout == refs
    assert repository.fetch() is before
    assert before.revision == tip


def test_a_conflict_names_its_paths(upstream: Upstream, merge: Merge) -> None:
    start = upstream.commit({"a.yaml": "1", "d/b.yaml": "1", "c.yaml": "1"})
    push(upstream, {"a.yaml": "2", "d/b.yaml": "2", "c.yaml": "1"}, start=start)
    upstream.commit({"a.yaml": "3", "c.yaml": "2"})
    source = merge()
    with pytest.raises(
        MergeConflict, match=r"refs/pull/7/head conflicts with branch 'main' in 'a.yaml', 'd/b.yaml'"
    ) as found:
        source.fetch()
    assert found.value.paths == ("a.yaml", "d/b.yaml")
    assert source.last_good is None
    push(upstream, {"a.yaml": "3", "d/b.yaml": "1", "c.yaml": "1"}, start=start)
    assert contents(source.fetch()) == {"a.yaml": b"3", "c.yaml": b"2"}


@pytest.mark.parametrize("distance", [60, 0])
def test_a_shallow_clone_gets_as_much_history_as_the_merge_needs(
    upstream: Upstream, merge: Merge, clone: Path, distance: int
) -> None:
    files = {"a.yaml": "1"}
    grow(upstream, 70, files)
    start = upstream.commit(files)
    push(upstream, {"a.yaml": "2"}, start=start)
    grow(upstream, distance, files)
    assert contents(merge().fetch())["a.yaml"] == b"2"
    shallow = clone.with_name(f"{clone.name}.merges") / "shallow"
    assert shallow.exists() == (distance == 0), "no more history than the merge needs is fetched"


def test_a_base_behind_the_known_history_is_found(upstream: Upstream, merge: Merge) -> None:
    """The newest common commit is behind a merge, while an older one is close: with too little history, b conflicts."""
    root = upstream.commit({"a": "0", "b": "0"})
    side = push(upstream, {"a": "0", "b": "1"}, to="refs/heads/side", start=root)
    upstream.set_branch("long", side)
    for number in range(60):
        long = upstream.commit({"a": "0", "b": "1", "n": str(number)}, "long")
    upstream.set_branch("main", upstream.merge({"a": "0", "b": "2"}, root, long))
    push(upstream, {"a": "1", "b": "1"}, start=side)
    assert contents(merge().fetch()) == {"a": b"1", "b": b"2"}


def test_a_criss_cross_history_is_merged(upstream: Upstream, merge: Merge) -> None:
    root = upstream.commit({"a": LINES, "b": LINES})
    one = push(upstream, {"a": LINES + "one\n", "b": LINES}, start=root)
    two = push(upstream, {"a": LINES, "b": LINES + "two\n"}, start=root)
    both = {"a": LINES + "one\n", "b": LINES + "two\n"}
    upstream.git("update-ref", "refs/heads/main", upstream.merge(both, one, two))
    upstream.git("update-ref", HEAD, upstream.merge({**both, "c": "3"}, two, one))
    assert contents(merge().fetch()) == {**{name: text.encode() for name, text in both.items()}, "c": b"3"}


def test_a_head_without_common_history_is_refused(upstream: Upstream, merge: Merge) -> None:
    upstream.commit({"a.yaml": "1"})
    upstream.commit({"a.yaml": "2"}, "other")
    with pytest.raises(SourceRefused, match=r"refs/heads/other and branch 'main' have no common history"):
        merge("refs/heads/other").fetch()


def test_a_head_that_is_already_merged_gives_the_branch(upstream: Upstream, merge: Merge) -> None:
    start = upstream.commit({"a.yaml": "1"})
    upstream.commit({"a.yaml": "2"})
    upstream.git("update-ref", HEAD, start)
    merged = merge().fetch()
    assert (merged.revision, contents(merged)) == (start, {"a.yaml": b"2"})


def test_a_head_can_be_pushed_with_force_and_deleted(upstream: Upstream, merge: Merge) -> None:
    start = upstream.commit({"a.yaml": "1"})
    push(upstream, {"a.yaml": "2"}, start=start)
    source = merge()
    first = source.fetch()
    second = push(upstream, {"a.yaml": "3"}, start=start)
    assert (source.fetch().revision, contents(source.fetch())) == (second, {"a.yaml": b"3"})
    upstream.git("update-ref", "-d", HEAD)
    with pytest.raises(SourceRefused, match="no reference refs/pull/7/head: the pull request was closed"):
        source.fetch()
    assert contents(first) == {"a.yaml": b"2"}, "what was read stays readable"
    upstream.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(SourceRefused, match=r"the repository is empty|has no branch 'main'"):
        source.fetch()


def test_two_pull_requests_share_a_clone(upstream: Upstream, merge: Merge) -> None:
    start = upstream.commit({"a.yaml": "1", "b.yaml": "1"})
    push(upstream, {"a.yaml": "2", "b.yaml": "1"}, start=start)
    push(upstream, {"a.yaml": "1", "b.yaml": "3"}, to="refs/merge-requests/8/head", start=start)
    one, other = merge().fetch(), merge("refs/merge-requests/8/head").fetch()
    assert contents(one) == {"a.yaml": b"2", "b.yaml": b"1"}
    assert contents(other) == {"a.yaml": b"1", "b.yaml": b"3"}


def test_an_old_protocol_without_blobs_by_id_gets_everything(
    upstream: Upstream, merge: Merge, server: GitServer
) -> None:
    server.behaviour.old_protocol = True
    start = upstream.commit({"a.yaml": LINES})
    push(upstream, {"a.yaml": LINES + "2"}, start=start)
    upstream.commit({"a.yaml": "0\n" + LINES})
    assert contents(merge().fetch()) == {"a.yaml": f"0\n{LINES}2".encode()}


def test_links_submodules_and_the_path_have_the_rules_of_every_commit(upstream: Upstream, merge: Merge) -> None:
    start = upstream.commit({"d/a.yaml": "1", "b.yaml": "1"})
    files: dict[str, Content] = {"d/a.yaml": "1", "d/in.yaml": Link("a.yaml"), "d/out.yaml": Link("../../etc/passwd")}
    push(upstream, {**files, "d/sub": Submodule("1" * 40), "b.yaml": "1"}, start=start)
    upstream.commit({"d/a.yaml": "2", "b.yaml": "1"})
    merged = merge(path="d").fetch()
    assert contents(merged) == {"a.yaml": b"2", "in.yaml": b"2"}
    assert len(merged.diagnostics.items) == 2
    with pytest.raises(SourceRefused, match="has no directory 'e'"):
        merge(path="e").fetch()


def test_a_damaged_clone_is_made_again_and_an_unreachable_server_is_a_temporary_error(
    upstream: Upstream, merge: Merge, clone: Path, server: GitServer
) -> None:
    start = upstream.commit({"a.yaml": "1"})
    push(upstream, {"a.yaml": "2"}, start=start)
    merge().fetch()
    merges = clone.with_name(f"{clone.name}.merges")
    for pack in (merges / "objects").rglob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"")
    source = merge()
    last = source.fetch()
    assert contents(last) == {"a.yaml": b"2"}
    server.behaviour.status = 503
    with pytest.raises(SourceUnavailable):
        source.fetch()
    assert source.last_good is last


HOSTILE = [
    *("", "main", "HEAD", "refs/", "1" * 40, "--upload-pack=touch /tmp/x"),
    *("-refs/heads/x", "+refs/heads/x", "^refs/heads/x", "refs/heads/*", "refs/heads/x:refs/heads/main"),
    *("refs/heads/x y", "refs/heads/x\nrefs/heads/y", "refs/heads/\0", "refs/heads/../x", "refs/heads/\ud800"),
    *("refs/heads/x@{1}", "refs/heads/x~1"),
]


def test_a_hostile_name_never_reaches_git(merge: Merge, server: GitServer) -> None:
    for name in HOSTILE:
        with pytest.raises(SourceRefused, match="not the full name of a Git reference"):
            merge(name)
    assert server.behaviour.requests == []


def test_an_old_git_is_named(merge: Merge, fake_program: Callable[[str, str], None]) -> None:
    fake_program("git", "echo git version 2.37.1")
    with pytest.raises(SourceRefused, match=r"git 2\.37\.1 is too old to merge pull requests: install git 2\.38 or"):
        merge().fetch()


@pytest.mark.parametrize("settings", [{"tag": "v1"}, {"commit": "1" * 40}])
def test_a_tag_or_a_commit_has_no_pull_requests(merge: Merge, settings: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="pull requests need"):
        merge(**settings)
