"""Which commit added a part of a file, by a real Git: the same answer whatever happened to the file around it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.files.tables import rows
from support.git.upstream import Upstream

from gitops_connect.errors import SourceUnavailable
from gitops_connect.model.clock import Duration
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source import commit_history
from gitops_connect.source.checkout import Checkout, History
from gitops_connect.source.commit_history import CommitHistory
from gitops_connect.source.merge_result import MergeResult
from gitops_connect.source.repository import Repository

pytestmark = pytest.mark.slow

ON, OFF = "on\n", "off\n"
HEAD = "refs/pull/7/head"
Files = dict[str, str]


def is_on(blob: Blob) -> bool:
    return blob.content.startswith(b"on")


def history_of(checkout: Checkout) -> History:
    assert checkout.history is not None
    return checkout.history


@pytest.fixture
def settings(upstream: Upstream) -> RepositorySettings:
    return RepositorySettings(url=str(upstream.directory), timeout=Duration(20))


def opened(settings: RepositorySettings, clone: Path) -> Repository:
    return Repository(settings, clone, CommitHistory(settings, clone).at)


@pytest.fixture
def repository(settings: RepositorySettings, clone: Path) -> Repository:
    return opened(settings, clone)


def added(repository: Repository, path: str = "a.yaml") -> str | None:
    return history_of(repository.fetch()).added(path, "on", is_on)


@pytest.mark.parametrize(("_story", "commits", "expected"), rows(__file__, "stories"))
def test_the_commit_that_added_it(
    upstream: Upstream, repository: Repository, _story: str, commits: list[Files], expected: int | None
) -> None:
    ids = [upstream.commit({**files}) for files in commits]
    assert added(repository) == (None if expected is None else ids[expected])


def test_a_directory_and_an_odd_name(upstream: Upstream, settings: RepositorySettings, clone: Path) -> None:
    first = upstream.commit({'sub/:(top)ä "*.yaml': ON, "sub/a.yaml": OFF})
    upstream.commit({'sub/:(top)ä "*.yaml': ON + "1", "sub/a.yaml": ON})
    assert added(opened(replace(settings, path="sub"), clone), ':(top)ä "*.yaml') == first


@pytest.mark.parametrize("merged", [{"a.yaml": ON}, {"a.yaml": ON + "edited by the merge"}])
@pytest.mark.parametrize("main_is_first", [True, False])
def test_a_merge_did_not_add_what_one_of_its_parents_has(
    upstream: Upstream, repository: Repository, merged: Files, *, main_is_first: bool
) -> None:
    """Also a fast-forward to a merge whose first parent is the topic branch: the commit stays the same."""
    base = upstream.commit({"a.yaml": OFF})
    upstream.set_branch("topic", base)
    topic = upstream.commit({"a.yaml": ON}, "topic")
    main = upstream.commit({"a.yaml": OFF, "b.yaml": OFF})
    parents = (main, topic) if main_is_first else (topic, main)
    upstream.set_branch("main", upstream.merge({**merged, "b.yaml": OFF}, *parents))
    assert added(repository) == topic


def test_history_is_deepened_until_the_commit_is_found_and_no_other_blobs_are_fetched(
    upstream: Upstream, repository: Repository, clone: Path
) -> None:
    first = upstream.commit({"a.yaml": ON, "large.bin": "large"})
    for number in range(60):
        upstream.commit({"a.yaml": ON, "large.bin": "large", "count": str(number)})
    assert added(repository) == first
    directory = clone.with_name("clone.history")
    listed = subprocess.run(
        ["git", "-C", directory, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert listed.count("blob") == 1
    commits = subprocess.run(["git", "-C", clone, "rev-list", "--count", "--all"], capture_output=True, check=True)
    assert commits.stdout == b"1\n", "the clone of the branch is not deepened"


def test_beyond_the_limits_the_commit_is_unknown(
    upstream: Upstream, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_history, "_DEPTHS", (2, 4))
    for number in range(6):
        upstream.commit({"a.yaml": ON, "count": str(number)})
    assert added(repository) is None


def test_beyond_the_number_of_versions_the_commit_is_unknown(
    upstream: Upstream, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = upstream.commit({"a.yaml": ON})
    for number in range(4):
        upstream.commit({"a.yaml": f"{ON}# {number}\n"})
    monkeypatch.setattr(commit_history, "MOST_VERSIONS", 5)
    assert added(repository) == first
    upstream.commit({"a.yaml": f"{ON}# more\n"})
    assert added(repository) is None


def test_an_unchanged_file_is_not_read_again(upstream: Upstream, repository: Repository) -> None:
    first = upstream.commit({"a.yaml": ON})
    assert added(repository) == first

    def read_again(blob: Blob) -> bool:
        raise AssertionError(blob)

    upstream.commit({"a.yaml": ON, "b.yaml": OFF})
    assert history_of(repository.fetch()).added("a.yaml", "on", read_again) == first
    upstream.commit({"a.yaml": OFF})
    again = upstream.commit({"a.yaml": ON})
    assert added(repository) == again


def test_after_a_force_push_the_old_commit_is_in_no_history(
    upstream: Upstream, repository: Repository, settings: RepositorySettings, clone: Path
) -> None:
    first = upstream.commit({"a.yaml": ON})
    assert added(repository) == first
    second = Revision(upstream.commit({"a.yaml": ON, "b.yaml": OFF}))
    history = history_of(repository.fetch())
    assert history.contains(first[:12], second)
    assert not history.contains(second, Revision(first))
    other = upstream.commit({"a.yaml": ON}, rewrite=True)
    for again in (repository, opened(settings, clone)):
        checkout = again.fetch()
        assert added(again) == other
        assert not history_of(checkout).contains(first[:12], checkout.revision)
        assert not history_of(checkout).contains("not a commit", checkout.revision)


def test_a_damaged_clone_is_cloned_again(upstream: Upstream, repository: Repository, clone: Path) -> None:
    upstream.commit({"a.yaml": OFF})
    first = upstream.commit({"a.yaml": ON})
    assert added(repository) == first
    for pack in clone.with_name("clone.history").glob("objects/pack/*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"")
    checkout = repository.fetch()
    with pytest.raises(SourceUnavailable, match=r"clone\.history is damaged and will be cloned again"):
        history_of(checkout).added("a.yaml", "another part", is_on)
    assert history_of(checkout).added("a.yaml", "another part", is_on) == first


def test_a_tag_and_a_commit_have_a_history_too(upstream: Upstream, settings: RepositorySettings, clone: Path) -> None:
    first = upstream.commit({"a.yaml": ON})
    second = upstream.commit({"a.yaml": ON, "b.yaml": OFF})
    upstream.git("tag", "v1", second)
    upstream.commit({"a.yaml": OFF})
    for target in (replace(settings, tag="v1"), replace(settings, commit=second)):
        assert added(opened(target, clone)) == first


def test_a_revision_that_a_force_push_has_replaced_meanwhile(upstream: Upstream, repository: Repository) -> None:
    upstream.commit({"a.yaml": ON})
    checkout = repository.fetch()
    upstream.commit({"a.yaml": OFF}, rewrite=True)
    with pytest.raises(SourceUnavailable, match="a force-push has replaced it"):
        history_of(checkout).added("a.yaml", "on", is_on)


def test_a_pull_request_adds_only_what_its_target_does_not_have(
    upstream: Upstream, settings: RepositorySettings, clone: Path
) -> None:
    base = upstream.commit({"a.yaml": ON, "b.yaml": OFF})
    upstream.set_branch("topic", base)
    adding = upstream.commit({"a.yaml": ON + "1", "b.yaml": ON}, "topic")
    head = upstream.commit({"a.yaml": ON + "1", "b.yaml": ON, "c.yaml": ON}, "topic")
    upstream.git("update-ref", HEAD, head)
    upstream.git("update-ref", "-d", "refs/heads/topic")
    upstream.commit({"a.yaml": ON, "b.yaml": OFF, "d.yaml": OFF})
    history = history_of(MergeResult(settings, clone, HEAD, CommitHistory(settings, clone).at).fetch())
    found = {name: history.added(name, "on", is_on) for name in ("a.yaml", "b.yaml", "c.yaml")}
    assert found == {"a.yaml": base, "b.yaml": adding, "c.yaml": head}
