"""A GitHub app: it asks for a token of its installation with a signed request, and uses it until it expires."""

from __future__ import annotations

from pathlib import Path

import jwt
import pytest
from support.cluster.manual_clock import START

from forge.conftest import described
from forge.exchanges import HUB
from forge.fake_forge import Exchange, FakeForge
from forge.worlds import forge_of, write_private_key
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow

OPEN = Exchange(f"GET {HUB}/pulls?state=open&base=main&per_page=100", [])


def access(token: str, expires: str) -> Exchange:
    answer = {"token": token, "expires_at": expires}
    return Exchange("POST /app/installations/2/access_tokens", answer, 201)


def test_an_app_uses_tokens_of_its_installation(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    key = write_private_key(file)
    with FakeForge(ForgeKind.GITHUB, described(ForgeKind.GITHUB, pytestconfig)).running() as fake:
        app = {"app_id": 1, "installation_id": 2, "private_key": Credential(file=file)}
        forge = forge_of(ForgeKind.GITHUB, fake.url, None, **app)
        expired, valid = access("ghs_expired", "2020-01-01T00:00:00Z"), access("ghs_valid", "2099-01-01T00:00:00Z")
        with fake.played([Exchange("GET /app", {"slug": "our-gitops"}), expired, OPEN, valid, OPEN, OPEN]):
            assert forge.user() == "our-gitops[bot]"
            for _ in range(3):
                assert list(forge.open_pull_requests()) == []
        forge.close()
    signed, asked, first, again, second, third = fake.authorizations
    for header in (signed, asked, again):
        signature, options = header.removeprefix("Bearer "), {"verify_exp": False}  # the clock is one of the tests
        claims = jwt.decode(signature, key.public_key(), ["RS256"], options=options)
        assert claims["iss"] == "1"
        assert claims["iat"] < START.timestamp() < claims["exp"] <= START.timestamp() + 600
    assert [first, second, third] == ["Bearer ghs_expired", "Bearer ghs_valid", "Bearer ghs_valid"]
