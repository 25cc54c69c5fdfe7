"""The recogniser of secrets on secrets of every kind, and on harmless configs. The docs report these numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.files.recognizable_secrets import BASIC, BY_FORM, BY_KEY, DER, WORD, A
from support.files.tables import rows

from gitops_connect.exchange.readers.properties import parse
from gitops_connect.model.credentials import shaped
from gitops_connect.model.masking import BY_KEY as LOOKS_LIKE
from gitops_connect.model.masking import clear_secret, mask, masked_value

HARMLESS = list(parse(Path(__file__).with_name("harmless_configs.properties").read_bytes()))
MISTAKEN = {"sql"}
"""Keys of harmless values that are taken for secrets: `token = NULL, …` of SQL looks like a pair."""


def test_every_secret_is_recognized() -> None:
    assert len(BY_KEY) + len(BY_FORM) >= 170
    assert [key for key in BY_KEY if clear_secret(key, WORD) != LOOKS_LIKE] == []
    assert [value for _, value in BY_FORM if clear_secret("some.option", value) is None] == []


def test_no_recognized_secret_is_shown() -> None:
    parts = (WORD, A, DER, BASIC)
    shown = {value: mask(f"refused: {value}") for _, value in BY_FORM}
    assert {value: text for value, text in shown.items() if any(part in text for part in parts)} == {}
    assert {key for key in BY_KEY if masked_value(key, WORD) != "***"} == set()


def test_no_harmless_value_is_taken_for_a_secret() -> None:
    assert len(HARMLESS) >= 400
    assert {one.key for one in HARMLESS if clear_secret(one.key, one.value)} == MISTAKEN


@pytest.mark.parametrize(("value", "shown"), rows(__file__, "beside_a_reference"))
def test_a_reference_does_not_hide_the_secret_beside_it(value: str, shown: str) -> None:
    assert masked_value("database.password", value) == shown
    assert clear_secret("database.password", value) == (LOOKS_LIKE if "***" in shown else None)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (f"ghp_{A}abcd", "a GitHub token"),
        (f'org.x.PlainLoginModule required password="{WORD}";', "a password of JAAS"),
        (f"https://u:{WORD}@h/?token={WORD}", "a password in a URL"),
        (f"-----BEGIN PRIVATE KEY-----\n{DER}", "a private key"),
        (f"Cookie: session={A}", "a credential in a header"),
        ("https://discord.com/api/webhooks/123456789012345678/" + A * 2, "a Discord webhook URL"),
        (f"user=u;password={WORD}", "a password or another secret"),
    ],
)
def test_the_kind_is_named(value: str, kind: str) -> None:
    assert clear_secret("some.option", value) == kind


def test_each_form_is_found_in_every_secret_of_that_form() -> None:
    """A hint that is missing would hide a pattern from every search."""
    kinds = {"url", "connection", "jaas", "header", "json", "default", "pem"}
    forms = [value for kind, value in BY_FORM if kind not in kinds and "&sig=" not in value]
    assert [value for value in forms if not list(shaped(value))] == []
