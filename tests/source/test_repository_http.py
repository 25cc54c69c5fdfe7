"""Git's smart HTTP from a real `git http-backend`: what is fetched, logins, and what happens after failures."""

from __future__ import annotations

import gzip
import itertools
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest
from support.git.git_web_servers import SMART, Parts, endless_references, web_server
from support.git.http_server import GitServer, serving
from support.git.opening import Open, contents
from support.git.upstream import Content, Link, Path_, Upstream
from support.loopback import HttpHandler, http_server, make_certificate
from support.waiting import await_that

from gitops_connect.errors import GitopsConnectError, SourceRefused, SourceUnavailable
from gitops_connect.model.clock import Duration
from gitops_connect.settings.coerce import Size
from gitops_connect.settings.credential_sources import Credential

pytestmark = pytest.mark.slow

SECRET = "s3cret/%@:!"


@pytest.fixture
def url(server: GitServer) -> str:
    return f"{server.url}/o.git"


@pytest.fixture
def over_http(open_repository: Open, url: str) -> Open:
    """Open the repository at this URL, with the given settings."""
    return partial(open_repository, url)


@pytest.fixture
def filled(upstream: Upstream) -> Upstream:
    upstream.commit({"old.yaml": "0"})
    upstream.commit({"x.yaml": "1\n", "y.yaml": "2\n", "big.jsonl": os.urandom(200_000)})
    return upstream


def requests(server: GitServer) -> list[str]:
    """The requests since the last call."""
    asked = [request.replace("/o.git/", "") for request in server.behaviour.requests]
    server.behaviour.requests.clear()
    return asked


def in_the_clone(clone: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, text=True, check=True).stdout


LOOK = ["GET info/refs?service=git-upload-pack", "POST git-upload-pack"]
FETCH = [*LOOK, "POST git-upload-pack"]


@pytest.mark.usefixtures("filled")
def test_no_history_and_no_content_is_fetched_before_it_is_asked_for(
    server: GitServer, clone: Path, over_http: Open
) -> None:
    checkout = over_http().fetch()
    assert in_the_clone(clone, "rev-list", "--count", checkout.revision).strip() == "1"
    assert sum(file.stat().st_size for file in clone.rglob("*") if file.is_file()) < 50_000
    assert [(entry.path, entry.size) for entry in checkout.entries] == [
        ("big.jsonl", None),
        ("x.yaml", None),
        ("y.yaml", None),
    ]
    requests(server)
    assert [blob.content for blob in checkout.blobs(checkout.entries[1:])] == [b"1\n", b"2\n"]
    assert requests(server) == LOOK
    assert checkout.read(checkout.entries[2]) == b"2\n"
    assert requests(server) == []
    again = over_http().fetch()
    assert [entry.size for entry in again.entries] == [None, 2, 2]


def test_a_poll_in_which_nothing_moved_is_one_look(server: GitServer, filled: Upstream, over_http: Open) -> None:
    source = over_http()
    first = source.fetch()
    contents(first)
    requests(server)
    assert source.fetch() is first
    assert requests(server) == LOOK
    over_http().fetch()
    assert requests(server) == LOOK
    filled.commit({"x.yaml": "1\n", "y.yaml": "3\n"})
    second = source.fetch()
    assert requests(server) == [*LOOK, *FETCH]
    assert [entry.size for entry in second.entries] == [2, None]
    assert contents(second) == {"x.yaml": b"1\n", "y.yaml": b"3\n"}
    assert requests(server) == LOOK
    assert second.rewritten is None


@pytest.mark.parametrize("filters", ["true", "false"])
@pytest.mark.parametrize("old", [True, False])
def test_a_server_that_can_do_less_gives_the_same(
    server: GitServer, upstream: Upstream, over_http: Open, *, filters: str, old: bool
) -> None:
    upstream.git("config", "uploadpack.allowFilter", filters)
    server.behaviour.old_protocol = old
    files: dict[Path_, Content] = {"x.yaml": "1\n", "link.yaml": Link("x.yaml")}
    upstream.commit(files)
    source = over_http()
    assert contents(source.fetch()) == {"x.yaml": b"1\n", "link.yaml": b"1\n"}
    before = upstream.commit({**files, "y.yaml": "2\n"})
    checkout = source.fetch()
    assert contents(checkout) == {"x.yaml": b"1\n", "link.yaml": b"1\n", "y.yaml": b"2\n"}
    assert checkout.rewritten is None
    upstream.commit({"z.yaml": "3\n"}, rewrite=True)
    checkout = source.fetch()
    assert (contents(checkout), checkout.rewritten) == ({"z.yaml": b"3\n"}, before)


@pytest.mark.parametrize("old", [True, False])
def test_a_commit_is_had_by_its_id_or_else_by_everything(
    server: GitServer, filled: Upstream, over_http: Open, *, old: bool
) -> None:
    server.behaviour.old_protocol = old
    first = filled.git("rev-parse", "main~1")
    assert contents(over_http(commit=first).fetch()) == {"old.yaml": b"0"}
    requests(server)
    assert contents(over_http(commit=first).fetch()) == {"old.yaml": b"0"}
    assert requests(server) == []
    with pytest.raises(SourceRefused, match="no branch or tag contains commit"):
        over_http(commit="0123456789" * 4).fetch()


def test_a_server_of_plain_files_is_read_too(upstream: Upstream, open_repository: Open) -> None:
    def answer(request: HttpHandler) -> None:
        file = upstream.directory.parent / request.path.partition("?")[0].lstrip("/")
        request.send(*((200, {}, file.read_bytes()) if file.is_file() else (404, {}, b"")))

    upstream.commit({"x.yaml": "1\n"})
    upstream.git("update-server-info")
    with http_server(answer) as url:
        source = open_repository(f"{url}/o.git")
        assert contents(source.fetch()) == {"x.yaml": b"1\n"}
        upstream.commit({"x.yaml": "2\n"})
        upstream.git("update-server-info")
        assert contents(source.fetch()) == {"x.yaml": b"2\n"}


@pytest.mark.usefixtures("filled")
def test_a_password_is_given_when_the_server_asks(
    server: GitServer, clone: Path, tmp_path: Path, over_http: Open
) -> None:
    server.behaviour.login = ("me", SECRET)
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    checkout = over_http(username="me", password=Credential(file=file)).fetch()
    assert contents(checkout)["x.yaml"] == b"1\n"
    server.behaviour.login = ("git", "rotated")
    file.write_text("rotated\n")
    assert over_http(password=Credential(file=file)).fetch().revision == checkout.revision
    kept = [entry.read_bytes() for entry in clone.parent.rglob("*") if entry.is_file()]
    assert kept
    assert not any(b"s3cret" in content or b"rotated" in content for content in kept)


@pytest.mark.usefixtures("filled")
def test_a_password_in_the_url_is_used_and_not_stored(server: GitServer, clone: Path, open_repository: Open) -> None:
    server.behaviour.login = ("me", "s3cret/x")
    url = f"http://me:s3cret%2Fx@127.0.0.1:{server.port}/o.git"
    assert contents(open_repository(url).fetch())["x.yaml"] == b"1\n"
    assert b"s3cret" not in (clone / "config").read_bytes()


@pytest.mark.usefixtures("filled")
def test_a_wrong_or_missing_password_is_refused_without_showing_it(
    server: GitServer, url: str, over_http: Open
) -> None:
    server.behaviour.login = ("me", "right")
    with pytest.raises(
        SourceRefused, match=r"requires a user name and a password: set \[repository\] username"
    ) as caught:
        over_http().fetch()
    assert url in str(caught.value)
    with pytest.raises(SourceRefused, match=r"rejects the credentials \(401\)") as caught:
        over_http(username="me", password=Credential(value=SECRET)).fetch()
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in str(caught.value.__cause__)


@pytest.mark.usefixtures("filled")
def test_a_password_that_the_settings_do_not_name_is_not_lent(
    server: GitServer, tmp_path: Path, over_http: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password mine\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    server.behaviour.login = ("me", "mine")
    with pytest.raises(SourceRefused, match="requires a user name and a password"):
        over_http().fetch()
    assert server.behaviour.logins == []


def processes_with(text: str) -> list[str]:
    """The command lines of all processes that contain the text."""
    lines = (" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))
    return [line for line in lines if text in line]


@pytest.mark.usefixtures("filled")
def test_a_server_that_hangs_is_given_up_and_git_leaves_nothing_running(server: GitServer, over_http: Open) -> None:
    server.behaviour.hangs = True
    source = over_http(timeout=Duration(1), username="me", password=Credential(value=SECRET))
    with ThreadPoolExecutor(1) as pool:
        fetching = pool.submit(source.fetch)
        assert server.behaviour.arrived.wait(10)
        lines = processes_with(f"127.0.0.1:{server.port}")
        error = fetching.exception()
    assert lines
    assert "s3cret" not in str(lines)
    assert isinstance(error, SourceUnavailable)
    assert "no answer within [repository] timeout" in str(error)
    await_that(lambda: not processes_with(f"127.0.0.1:{server.port}"))


@pytest.mark.parametrize("bytes_sent", [0, 200])
def test_a_connection_that_breaks_leaves_the_last_good_revision_and_its_content_can_be_read_again(
    server: GitServer, filled: Upstream, over_http: Open, bytes_sent: int
) -> None:
    source = over_http()
    server.behaviour.cut_after = bytes_sent
    with pytest.raises(SourceUnavailable, match="lost during the transfer"):
        source.fetch()
    server.behaviour.cut_after = None
    good = source.fetch()
    server.behaviour.cut_after = 500 * bytes_sent
    with pytest.raises(SourceUnavailable, match="lost during the transfer"):
        contents(good)
    server.behaviour.cut_after = None
    assert len(contents(good)["big.jsonl"]) == 200_000
    assert source.fetch() is good
    filled.commit({"x.yaml": "new"})
    server.behaviour.cut_after = bytes_sent
    with pytest.raises(SourceUnavailable, match="lost during the transfer"):
        source.fetch()
    assert source.last_good is good
    server.behaviour.cut_after = None
    assert contents(source.fetch()) == {"x.yaml": b"new"}


@pytest.mark.usefixtures("filled")
def test_each_status_says_whether_waiting_helps(server: GitServer, open_repository: Open, over_http: Open) -> None:
    kind: type[GitopsConnectError]
    for status, kind, expected in (
        (403, SourceRefused, "forbids.*403"),
        (404, SourceRefused, "the repository does not exist.*not found"),
        (503, SourceUnavailable, "an error of its own.*503"),
    ):
        server.behaviour.status = status
        with pytest.raises(kind, match=expected):
            over_http().fetch()
    with pytest.raises(SourceUnavailable, match="the server cannot be reached"):
        open_repository("http://127.0.0.1:1/o.git").fetch()


@pytest.mark.usefixtures("filled")
def test_a_redirect_is_followed_without_the_password(server: GitServer, served: Path, over_http: Open) -> None:
    with serving(served) as other:
        other.behaviour.login = ("me", SECRET)
        server.behaviour.redirect = other.url
        with pytest.raises(SourceRefused, match="requires a user name and a password"):
            over_http(username="me", password=Credential(value=SECRET)).fetch()
        assert other.behaviour.logins == []
        other.behaviour.login = None
        assert contents(over_http().fetch())["x.yaml"] == b"1\n"


@pytest.mark.usefixtures("filled")
def test_a_private_ca_is_trusted_where_the_settings_name_it(
    served: Path, tmp_path: Path, open_repository: Open
) -> None:
    certificate = make_certificate(tmp_path, "server")
    with serving(served, certificate) as server:
        url = f"{server.url}/o.git"
        with pytest.raises(SourceRefused, match=r"certificate is not trusted: set \[repository\] ca_file"):
            open_repository(url).fetch()
        nonsense = tmp_path / "nonsense.pem"
        nonsense.write_text("no certificate")
        with pytest.raises(SourceRefused, match="ca_file"):
            open_repository(url, ca_file=nonsense).fetch()
        checkout = open_repository(url, ca_file=certificate).fetch()
        assert contents(checkout)["x.yaml"] == b"1\n"


# Servers that are not Git servers, or send without end.


NO_GIT_SERVER = r"does not belong to a Git server: check \[repository\] url"
PAGES = [b"", b"<html>welcome</html>", b"<html>\nwelcome\n</html>\n"]
OF_MEMORY = r"\[repository\] git_memory"


@pytest.mark.parametrize(
    ("headers", "parts", "said"),
    [
        *(({"Content-Type": "text/html"}, partial(iter, [page]), NO_GIT_SERVER) for page in PAGES),
        pytest.param(SMART, endless_references, OF_MEMORY, id="references"),
        pytest.param(
            {**SMART, "Content-Encoding": "gzip"},
            lambda: iter([gzip.compress(bytes(1024**3), 1)]),
            OF_MEMORY,
            id="packed",
        ),
        pytest.param(SMART, lambda: itertools.repeat(b"garbage" * 9000), "^repository ", id="garbage"),
    ],
)
def test_what_no_git_server_sends_is_refused_within_the_memory_limit_of_git(
    open_repository: Open, headers: dict[str, str], parts: Parts, said: str
) -> None:
    with web_server(headers, parts) as url, pytest.raises((SourceRefused, SourceUnavailable), match=said):
        open_repository(url, timeout=Duration(60), git_memory=Size(256 * 1024**2)).fetch()
