"""Who may read, which host names are accepted, and the headers that protect a browser."""

from __future__ import annotations

import hmac
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from gitops_connect.errors import UsageError
from gitops_connect.server.listen_address import ListenAddress, address_of, require_safe
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ServerSettings

pytestmark = pytest.mark.slow

READ, CHANGE = "read-0123456789abcdef", "change-0123456789abcdef"
TOKENS = {"read_token": Credential(value=READ), "token": Credential(value=CHANGE)}
RESTRICTED = ("/", "/metrics", "/api/v1/status", "/api/v1/openapi.json", "/clusters/local", "/history", "/nothing")
OPEN = ("/healthz", "/readyz")


def test_reading_is_restricted_by_a_token(serve: Any) -> None:
    client: TestClient = serve(**TOKENS)
    for path in (*RESTRICTED, "/events"):
        answer = client.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Basic")
    for path in OPEN:
        assert client.get(path).status_code == 200, path
    for token in (READ, CHANGE):
        assert client.get("/", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert client.get("/", auth=("anyone", token)).status_code == 200
    for wrong in ("", "x", READ[:-1], f"{READ}x", "ü"):
        assert client.get("/", auth=("anyone", wrong)).status_code == 401
    odd = ("Basic \xfc", "Basic \xb2\xff", "Basic /w==\xe9", "Bearer \xfc", "\xfc \xfc", f"Basic {'A' * 10_000}")
    for header in ("Basic ~", "Basic /w==", "Basic 7aCA", "Basic", "Bearer", "Digest x", READ, *odd):
        assert client.get("/", headers={"Authorization": header.encode("latin-1")}).status_code == 401
    assert client.get(f"/?token={READ}").status_code == 401


def test_the_token_to_read_changes_nothing(serve: Any) -> None:
    client: TestClient = serve(**TOKENS)
    odd = (b"Bearer \xfc", b"Bearer \xff\xfe", b"Bearer", b"\xfc", b"Bearer " + b"x" * 10_000, b"Basic \xfc")
    for header in (f"Bearer {READ}".encode(), *odd):
        for path in ("/api/v1/reconcile", "/api/v1/pull-requests/review"):
            assert client.post(path, headers={"Authorization": header}).status_code == 401, header
    assert client.post("/api/v1/reconcile", headers={"Authorization": f"Bearer {CHANGE}"}).status_code == 202


def test_a_long_path_is_rejected(client: TestClient) -> None:
    for path in (f"/pull-requests/{'9' * 5000}", f"/api/v1/reconcile/{'9' * 5000}", f"/clusters/{'x' * 5000}"):
        assert client.get(path).status_code == 414
    assert client.get(f"/pull-requests/{'9' * 3900}").status_code == 404


def test_a_password_changes_nothing(serve: Any) -> None:
    """A browser repeats basic authentication by itself, so another site could cause a change."""
    client: TestClient = serve(**TOKENS)
    assert client.post("/api/v1/reconcile", auth=("anyone", CHANGE)).status_code == 401


def test_tokens_are_compared_in_constant_time(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client: TestClient = serve(**TOKENS)
    compared: list[tuple[bytes, bytes]] = []

    def differ(given: bytes, expected: bytes) -> bool:
        compared.append((given, expected))
        return False

    monkeypatch.setattr(hmac, "compare_digest", differ)
    assert client.get("/", auth=("anyone", READ)).status_code == 401, "nothing else compares them"
    assert compared == [(READ.encode(), READ.encode()), (READ.encode(), CHANGE.encode())]


def test_a_rotated_token_needs_no_restart(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{READ}\n")
    client: TestClient = serve(read_token=Credential(file=file))
    assert client.get("/", auth=("x", READ)).status_code == 200
    file.write_text("another-0123456789")
    assert client.get("/", auth=("x", READ)).status_code == 401
    assert client.get("/", auth=("x", "another-0123456789")).status_code == 200
    file.unlink()
    answer = client.get("/", auth=("x", READ))
    assert answer.status_code == 503, "without the file, nobody may read"


OWN_HOSTS = ("localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.0.2.7", "page.example.com", "PAGE.example.com:443")
OTHER_HOSTS = ("evil.example.com", "localhost.evil.example.com", "[::1", "")


def test_a_host_name_of_somebody_else_is_rejected_while_reading_is_open(serve: Any) -> None:
    client: TestClient = serve(public_url="https://page.example.com/", hosts=("status.internal",))
    for hosts, status in (((*OWN_HOSTS, "status.internal"), 200), (OTHER_HOSTS, 421)):
        for host in hosts:
            assert client.get("/api/v1/status", headers={"Host": host}).status_code == status, host
    protected: TestClient = serve(**TOKENS)
    assert protected.get("/", headers={"Host": "any.example.com"}, auth=("x", READ)).status_code == 200


def test_a_browser_is_protected(client: TestClient) -> None:
    for path in ("/", "/api/v1/status", "/nothing", "/healthz"):
        headers = client.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_an_address() -> None:
    for host, port in product(("127.0.0.1", "::1", "localhost", "0.0.0.0"), (0, 80, 65535)):
        address = ListenAddress(host, port)
        assert address_of(f"[{host}]:{port}" if ":" in host else f"{host}:{port}") == address
        assert address.is_loopback == (host != "0.0.0.0")
    for listen in ("", "8080", ":8080", "127.0.0.1", "http://x:1", "::1:80", "x:65536", "x:1:2"):
        with pytest.raises(UsageError, match=r"\[server\] listen: expected an address"):
            address_of(listen)


def test_an_address_that_others_reach_needs_a_decision() -> None:
    everywhere = ListenAddress("0.0.0.0", 8080)
    with pytest.raises(UsageError, match="set read_token"):
        require_safe(ServerSettings(), everywhere)
    require_safe(ServerSettings(), ListenAddress("::1", 8080))
    require_safe(ServerSettings(anonymous_read=True), everywhere)
    require_safe(ServerSettings(read_token=Credential(value=READ)), everywhere)
    with pytest.raises(UsageError, match="webhook_secret: expected at least 16 characters"):
        require_safe(ServerSettings(webhook_secret=Credential(value="short")), ListenAddress("::1", 8080))
