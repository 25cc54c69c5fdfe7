"""No secret is shown."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.model.masking import clear_secret, mask, masked_value, sensitive_values

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize(("text", "secret", "expected"), rows(__file__, "known"))
def test_a_known_secret(text: str, secret: str, expected: str) -> None:
    assert mask(text, [secret]) == expected


@pytest.mark.parametrize("secret", ["hunter2", "4711", "a<b>&'\"/é", "correct horse?>~", "  padded  "])
def test_no_escaped_or_encoded_form_of_a_secret_is_left(secret: str) -> None:
    content = secret.encode()
    forms = [html.escape(secret), html.escape(secret).replace("&#x27;", "&#39;"), html.escape(secret, quote=False)]
    forms += [quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]]
    for encode in (b64encode, urlsafe_b64encode):
        forms += [encode(content).decode(), encode(content).decode().rstrip("=")]
    for form in forms:
        assert mask(f"value {form}, refused", [secret]).strip() in {"value ***, refused", "value   ***  , refused"}


@given(st.text(min_size=5), st.text(), st.text(), st.sampled_from([b64encode, urlsafe_b64encode]))
def test_a_secret_is_found_in_the_base64_of_more(
    secret: str, before: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    encoded = encode(f"{before}{secret}{after}".encode()).decode()
    assert mask(f"sent {encoded}", [secret]) == "sent ***"
    assert mask(f"sent {encoded.rstrip('=')} to it", [secret]) == "sent *** to it"


def test_other_base64_is_left() -> None:
    encoded = b64encode(b"user:another password").decode()
    assert mask(f"sent {encoded}", ["hunter2"]) == f"sent {encoded}"


def test_the_longer_of_two_goes_first() -> None:
    assert mask("hunter2hunter2 hunter2", ["hunter2", "hunter2hunter2"]) == "*** ***"


@given(st.text(min_size=4).filter(lambda text: len(text.strip()) >= 4 and "*" not in text), st.text(), st.text())
def test_no_known_secret_is_left(secret: str, before: str, after: str) -> None:
    assert secret not in mask(before + secret + after, [secret])


@pytest.mark.parametrize(("value", "expected"), rows(__file__, "certain"))
def test_only_the_secret_is_masked_if_its_end_is_certain(value: str, expected: str) -> None:
    assert mask(value) == expected
    assert clear_secret("plain", value)
    assert mask(mask(value)) == mask(value)


@pytest.mark.parametrize("value", rows(__file__, "uncertain"))
def test_everything_is_masked_if_nobody_can_tell_where_the_secret_ends(value: str) -> None:
    assert mask(value) == "***"
    assert mask(f"first line\n{value}") == "first line\n***"


@pytest.mark.parametrize("value", rows(__file__, "harmless"))
def test_what_holds_no_secret_is_shown(value: str) -> None:
    assert mask(value) == value
    assert not clear_secret("plain", value)


def test_a_value_of_a_sensitive_key_is_masked_unless_it_is_a_reference() -> None:
    assert masked_value("database.password", "one") == "***"
    assert masked_value("pin", "1234", sensitive=True) == "***"
    assert masked_value("database.password", "${file:/a:b}") == "${file:/a:b}"
    jaas = f'{JAAS} password="hunter2" other="${{env:X}}";'
    assert masked_value("producer.override.sasl.jaas.config", jaas) == jaas.replace("hunter2", "***")
    assert masked_value("connection.uri", "mongodb://h/db") == "mongodb://h/db"


def test_which_values_of_a_config_are_secret() -> None:
    config = {"db.password": "one", "plain": "two", "named": "three", "x.token": "********", "y.secret": "${file:/a:b}"}
    assert sensitive_values(config, ["named", "absent"]) == {"one", "three"}
    url = {"connection.url": "jdbc:x://h/d?password=a%2Fb", "plain": "mongodb://u:pw@h"}
    assert sensitive_values(url) == {"a%2Fb", "a/b", "pw"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "password=" * 20_000,
        "password" * 20_000,
        "a" * 200_000 + "password=x",
        "password" + " " * 200_000,
        "://" * 20_000 + "@",
        "${" * 60_000 + "@://",
        "jdbc:oracle:thin:a/" * 10_000,
        "-----BEGIN PRIVATE KEY-----" * 10_000,
        'password="' * 10_000,
        "authorization:" + " " * 200_000,
    ],
)
def test_a_hostile_string_takes_linear_time(text: str) -> None:
    """With a quadratic search each of these would take minutes."""
    assert len(mask(text)) <= len(text) + 10
