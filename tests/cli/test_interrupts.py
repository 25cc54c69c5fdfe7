"""The effect of a signal while work is in progress."""

from __future__ import annotations

import signal
import sys

import pytest
from acceptance.workplace import Ran, run_apart

from gitops_connect.cli.interrupts import interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_one_asks_for_an_end_and_afterwards_all_is_as_before(number: int) -> None:
    asked: list[int] = []
    before = signal.getsignal(number)
    with interruptible(lambda: asked.append(1)):
        signal.raise_signal(number)
        assert asked == [1]
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("then", ["", "raise ValueError"])
def test_the_second_one_says_what_it_has_to_say_before_it_ends_the_process(number: int, then: str) -> None:
    program = f"""
import signal
from gitops_connect.cli.interrupts import interruptible, tell_at_once
def second():
    tell_at_once("left")
    {then}
with interruptible(lambda: None, second):
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal({int(number)})
    print("still there")
"""
    assert run_apart([sys.executable, "-c", program]) == Ran(-number, "", "left\n")
