"""Credentials become headers, are read when they are used, and are never shown."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from gitops_connect.connect.transport import check_addresses, check_authentication, identify
from gitops_connect.errors import UsageError
from gitops_connect.model.names import ClusterName
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ClusterSettings


def settings(*urls: str, **more: Any) -> ClusterSettings:
    return ClusterSettings(ClusterName("local"), urls or ("http://h:8083",), **more)


def test_basic() -> None:
    identity = identify(settings(username="jürgen", password=Credential(value="pä:ss")))
    pair = base64.b64encode("jürgen:pä:ss".encode())
    assert identity.headers == {"Authorization": b"Basic " + pair}
    assert identity.secrets == {"pä:ss", pair.decode()}
    assert "pä:ss" not in repr(identity)


def test_bearer_and_further_headers() -> None:
    identity = identify(settings(token=Credential(value="t0k"), headers={"X-Key": Credential(value="k3y")}))
    assert identity.headers == {"X-Key": b"k3y", "Authorization": b"Bearer t0k"}
    assert identity.secrets == {"t0k", "k3y"}


def test_a_file_is_read_at_each_use(tmp_path: Path) -> None:
    file = tmp_path / "token"
    rotated = settings(token=Credential(file=file))
    for token in ("first", "second"):
        file.write_text(token + "\n")
        assert identify(rotated).headers["Authorization"] == f"Bearer {token}".encode()


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "a\r", "a\x00b"])
def test_a_value_that_no_header_can_have_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(
        UsageError, match=r"\[clusters.local\] headers.X: the value cannot be sent: it is empty, or contains"
    ) as caught:
        identify(settings(headers={"X": Credential(value=f"s3cret{value}" if value.strip() else value)}))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"username": "u", "token": Credential(value="t")}, "username and token cannot be combined"),
        (
            {"token": Credential(value="t"), "headers": {"authorization": Credential(value="x")}},
            "token and headers.Authorization cannot be combined",
        ),
        ({"password": Credential(value="p")}, "password is set, but username is not"),
        ({"client_key": Path("k")}, "client_key is set, but client_certificate is not"),
    ],
)
def test_settings_that_contradict_one_another(more: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        check_authentication(settings(**more))


def test_addresses_lose_the_slash_at_their_end() -> None:
    assert check_addresses(settings("http://a:1/", "https://b/connect")) == ("http://a:1", "https://b/connect")


@pytest.mark.parametrize(
    "url", ["a:8083", "ftp://a", "http://", "http://a:99999", "http://a?x=1", "http://a#x", "http://[::1"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match=r"\[clusters.local\] url: "):
        check_addresses(settings(url))


def test_credentials_in_an_address_are_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="and set username and password instead") as caught:
        check_addresses(settings("http://me:s3cret@h:8083"))
    assert "s3cret" not in str(caught.value)
