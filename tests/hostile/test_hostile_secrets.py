"""Strings that make a search for secrets slow: 1 MiB of the beginnings of each form, in each search of the recogniser.

The searches take linear time, at most some seconds; a quadratic one would take hours.
"""

from __future__ import annotations

import time

import pytest
from support.files.tables import rows

from gitops_connect.model.masking import clear_secret, mask
from gitops_connect.model.sensitivity import is_only_reference, is_placeholder, is_sensitive_key

MIB = 1024 * 1024
SECONDS = 60


def measured(beginning: str) -> float:
    """The processor time of every search in a string of these beginnings, which are also a key and a reference."""
    text = beginning * (MIB // len(beginning))
    start = time.process_time()
    for whole in (text, f"authorization: {text}:x=1", f'"password": "{text}"'):
        mask(whole)
    clear_secret("password", text)
    is_sensitive_key(text)
    is_placeholder(text)
    is_only_reference(text)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize("beginning", rows(__file__, "first"))
def test_a_search_takes_linear_time(beginning: str) -> None:
    assert measured(beginning) < SECONDS


@pytest.mark.thorough
@pytest.mark.parametrize("beginning", rows(__file__, "all"))
def test_every_search_takes_linear_time(beginning: str) -> None:
    assert measured(beginning) < SECONDS
