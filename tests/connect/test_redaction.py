"""No secret passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.connect.redaction import redact, sensitive_values


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
        ("see http://me:pw@host:1/x?y", "none", "see http://***@host:1/x?y"),
    ],
)
def test_redact(text: str, secret: str, expected: str) -> None:
    assert redact(text, [secret]) == expected


def test_the_longer_of_two_goes_first() -> None:
    assert redact("hunter2hunter2 hunter2", ["hunter2", "hunter2hunter2"]) == "*** ***"


@given(st.text(min_size=4).filter(lambda text: len(text.strip()) >= 4 and "*" not in text), st.text(), st.text())
def test_no_secret_is_left(secret: str, before: str, after: str) -> None:
    assert secret not in redact(before + secret + after, [secret])


def test_which_values_of_a_config_are_secret() -> None:
    config = {"db.password": "one", "plain": "two", "named": "three", "x.token": "********", "y.secret": "${file:/a:b}"}
    assert sensitive_values(config, ["named", "absent"]) == {"one", "three"}
