"""The address, the target and the directory of `[repository]`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.files.tables import rows

from gitops_connect.errors import UsageError
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.checkout import parse_directory, parse_target
from gitops_connect.source.git_url import absolute_url, parse_address


@pytest.mark.parametrize(("url", "transport", "clean"), rows(__file__, "clean"))
def test_an_address_is_without_credentials(url: str, transport: str, clean: str) -> None:
    address = parse_address(url)
    assert (address.transport.name, address.url) == (transport, clean)
    assert "s3cret" not in f"{address} {address!r}"


def test_credentials_of_the_url_are_kept_apart_and_decoded() -> None:
    address = parse_address("https://me:a%40b%2Fc@git.example.org/a")
    assert (address.username, address.password) == ("me", "a@b/c")
    assert address.origin == "https://git.example.org"


def test_a_path_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_address("../c.git").url == str(tmp_path / "../c.git")
    assert absolute_url("../c.git", Path("/etc/gitops")) == "/etc/gitops/../c.git"


@pytest.mark.parametrize("url", ["https://h/a", "git@h:a", "-x", "ext::sh", "", "/a"])
def test_what_is_no_relative_path_stays_as_it_is(url: str) -> None:
    assert absolute_url(url, Path("/etc")) == url


@pytest.mark.parametrize(("url", "expected"), rows(__file__, "refused"))
def test_what_is_dangerous_or_unknown_is_refused_by_name(url: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(url)
    assert expected in str(caught.value)
    assert "[repository] url" in str(caught.value)
    assert "s3cret" not in str(caught.value)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_commit_goes_before_a_branch_and_a_tag_too() -> None:
    assert str(parse_target(RepositorySettings())) == "branch 'main'"
    assert parse_target(RepositorySettings(branch="a/b")).wanted == "refs/heads/a/b"
    assert parse_target(RepositorySettings(tag="v1")).wanted == "refs/tags/v1"
    assert parse_target(RepositorySettings(commit=COMMIT.upper())).wanted == COMMIT
    targets = [RepositorySettings(branch="a"), RepositorySettings(branch="b"), RepositorySettings(tag="a")]
    assert len({parse_target(settings).good_ref for settings in targets}) == 3, "each has its own last good commit"


@pytest.mark.parametrize("name", ["", "-x", "a:b", "a*", "a b", "a..b", "/a", "a/", "a.lock", "a\nb", "@{u}", "a^"])
def test_a_name_that_git_would_read_otherwise_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="branch"):
        parse_target(RepositorySettings(branch=name))


def test_a_short_commit_and_two_targets_are_refused() -> None:
    with pytest.raises(UsageError, match="all 40 hex digits, found '0123'"):
        parse_target(RepositorySettings(commit="0123"))
    with pytest.raises(UsageError, match="both set"):
        parse_target(RepositorySettings(commit=COMMIT, tag="v1"))


@pytest.mark.parametrize(
    ("path", "directory"), [("", ""), (".", ""), ("./a//b/", "a/b"), ("a/../b", "b"), (".x", ".x")]
)
def test_a_directory_is_normalised(path: str, directory: str) -> None:
    assert parse_directory(path) == directory


@pytest.mark.parametrize("path", ["/etc", "..", "../a", "a/../../b", "a\nb"])
def test_a_directory_outside_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="inside the repository"):
        parse_directory(path)
