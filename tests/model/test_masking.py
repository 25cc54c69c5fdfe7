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

from gitops_connect.model.masking import clear_secret, mask, masked_value, sensitive_values

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize(
    ("text", "secret", "expected"),
    [
        ("Invalid value hunter2 for x", "hunter2", "Invalid value *** for x"),
        ("Invalid value hunter2 for x", "  hunter2\n", "Invalid value *** for x"),
        (r"sent {\"k\": \"a\\\"b\"} and a\"bcd", 'a"bcd', r"sent {\"k\": \"a\\\"b\"} and ***"),
        ("GET /?p=a%2Fbcd", "a/bcd", "GET /?p=***"),
        ("Invalid value a for configuration a.b", "a", "Invalid value *** for configuration ***.b"),
        ("a database", "a", "*** database"),
        ("aXXXX and XXXX", "XXXX", "a*** and ***"),
        ("nothing here", "", "nothing here"),
        ("see http://me:pw@host:1/x?y", "none", "see http://me:***@host:1/x?y"),
        ("FATAL: login with hunter2", "jdbc:x://h/d?password=hunter2", "FATAL: login with ***"),
        ("config {a=b, the.password=hunter2, c=d} is odd", "hunter2", "config {a=b, the.password=***, c=d} is odd"),
    ],
)
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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            "jdbc:postgresql://db:5432/shop?user=a&password=hunter2",
            "jdbc:postgresql://db:5432/shop?user=a&password=***",
        ),
        ("jdbc:postgresql://db/shop?password=hunter2&ssl=true", "jdbc:postgresql://db/shop?password=***&ssl=true"),
        ("jdbc:mysql://u:hunter2@db/shop", "jdbc:mysql://u:***@db/shop"),
        ("jdbc:sqlserver://h:1433;user=u@x;password=hunter2;a=b", "jdbc:sqlserver://h:1433;user=u@x;password=***;a=b"),
        ("jdbc:sqlserver://h;password={a;b}}c};a=b", "jdbc:sqlserver://h;password={***};a=b"),
        ("jdbc:db2://h:1/db:user=u;password=hunter2;", "jdbc:db2://h:1/db:user=u;password=***;"),
        ("jdbc:h2:mem:x;USER=sa;PASSWORD=123", "jdbc:h2:mem:x;USER=sa;PASSWORD=***"),
        ("jdbc:oracle:thin:scott/tiger@//h:1521/x", "jdbc:oracle:thin:scott/***@//h:1521/x"),
        ('jdbc:oracle:thin:scott/"ti@ger"@h:1521:x', "jdbc:oracle:thin:scott/***@h:1521:x"),
        ("mongodb://u:hunter2@h1:1,h2:2/db?x=y", "mongodb://u:***@h1:1,h2:2/db?x=y"),
        ("mongodb+srv://u:p@ss@h/db", "mongodb+srv://u:***@h/db"),
        ("https://ghp_token@github.example/x", "https://***@github.example/x"),
        (f'{JAAS} username="a" password="b\\"c";', f'{JAAS} username="a" password="***";'),
        (f"{JAAS} username=a password=hunter2;", f"{JAAS} username=a password=***"),
        ("host=h user=u password='a b' dbname=d", "host=h user=u password='***' dbname=d"),
        ('{"user": "u", "password": "p", "n": 1}', '{"user": "u", "password": "***", "n": 1}'),
        ("Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=a=;P=q", None),
        ("https://h/x?sv=1&sig=abc%2F&x=y", "https://h/x?sv=1&sig=***&x=y"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("keys are AKIAIOSFODNN7EXAMPLE", "keys are ***"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", None),
        ("jdbc:x://h/d?password=${env:X}tail&a=b", "jdbc:x://h/d?password=***&a=b"),
    ],
)
def test_only_the_secret_is_masked_if_its_end_is_certain(value: str, expected: str | None) -> None:
    if expected is None:
        expected = value.replace("a=;", "***;").replace("\nabc\n", "***")
    assert mask(value) == expected
    assert clear_secret("plain", value)
    assert mask(mask(value)) == mask(value)


@pytest.mark.parametrize(
    "value",
    [
        "mongodb://u:pa/ss@h/db",
        "jdbc:mysql://(host=h,user=u,password=a,b)/db",
        "password=abc;user=x",
        r"{\"password\":\"p\"}",
        'password="never closed',
        "database.password=a, b",
    ],
)
def test_everything_is_masked_if_nobody_can_tell_where_the_secret_ends(value: str) -> None:
    assert mask(value) == "***"
    assert mask(f"first line\n{value}") == "first line\n***"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "jdbc:postgresql://db/shop?user=a",
        "jdbc:postgresql://db/shop?user=a&password=${file:/run/db:password}",
        "jdbc:oracle:thin:@//h:1521/x",
        "jdbc:oracle:thin:scott/${file:/a/b:c}@//h:1521/x",
        "jdbc:oracle:thin:/@alias",
        "jdbc:sqlserver://h:1433;user=u@domain;database=x",
        "mongodb://h1:1,h2:2/db?appName=@x@",
        "mongodb://u:${file:/a/b:pw}@h/db",
        "mongodb://user@h/db",
        "https://[::1]:8083/a@b",
        f'{JAAS} username="a" password="${{file:/x:y}}";',
        "jdbc:mysql://h/db?user=u&password=&allowPassword=true",
        "Access denied for user 'x' (using password: YES)",
        'Missing required configuration "database.password" which has no default value.',
        "sasl.oauthbearer.token.endpoint.url=https://h",
        "password=***",
    ],
)
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
