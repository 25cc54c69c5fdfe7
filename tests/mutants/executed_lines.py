"""A plugin of pytest (`-p mutants.executed_lines`): records for each line the tests that execute it, with coverage.

Another run with the same file adds to it.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from coverage import Coverage

_coverage = Coverage(data_file=os.environ["EXECUTED_LINES"], config_file=False, include=["gitops_connect/*"])


def pytest_configure() -> None:
    _coverage.load()
    _coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _coverage.switch_context(item.nodeid)
    return (yield)


def pytest_unconfigure() -> None:
    _coverage.stop()
    _coverage.save()
