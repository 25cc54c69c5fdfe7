"""Which tests share an expensive service, so that pytest-xdist runs them in one process, and in which order."""

from __future__ import annotations

import re

POSTGRESQL = "[postgresql"
"""The first parameter of a test of the ledger that runs with a PostgreSQL server."""
REAL = re.compile(r"[\[-]real[\]-]")
"""The parameter of a test that runs over the stand-in and over the shared sandbox."""
SANDBOX = (
    "tests/acceptance/test_mirror_maker.py",
    "tests/acceptance/test_undo.py",
    "tests/acceptance/test_workers.py",
    "tests/offsets/rules/test_rules_on_connect.py",
    "tests/cli/test_offsets.py::test_get_and_undo_use_exactly_the_offsets_that_connect_stores",
    "tests/cli/test_sandbox_records.py",
    "tests/daemon/test_processes.py::test_the_steps_of_a_killed_process_are_finished_on_a_real_worker",
    "tests/daemon/test_restarts.py::test_a_sink_whose_cause_was_fixed_works_again",
    "tests/review/test_reviews_on_kafka.py",
    "tests/daemon/test_rollbacks.py::test_a_config_that_breaks_a_sink_on_kafka",
)
"""Prefixes of the ids of other tests with the fixture `sandbox`. A test that is missing starts one more sandbox."""
SECOND_SANDBOX = (
    "tests/death/test_killed_on_kafka.py",
    "tests/death/test_worker_killed.py",
    "tests/kip875/",
    "tests/live/",
    "tests/test_a_starting_worker.py",
)
"""The rest of them: in one process, the tests with a sandbox would take as long as all others in three processes."""
REPLICAS = (
    "tests/daemon/test_replicas.py",
    "tests/ledger/test_database.py::test_a_statement_",
    "tests/ledger/test_database.py::test_every_statement_",
)
"""Prefixes of the ids of other tests that need the PostgreSQL server."""
FORGES = "tests/forge/"
"""The tests of this directory share a Gitea server, and one repository in it. Other files start one of their own."""
SPARK = tuple(
    f"tests/offsets/spark/test_{name}.py"
    for name in ("a_million_planted", "file_copy", "masters", "on_spark", "patch", "violations", "worker_daemon")
)
"""Files with the fixture `spark`."""
LONG = (
    "sandbox",
    "second sandbox",
    "tests/guides/test_how_to_guides.py",
    "spark",
    "tests/sandbox/test_cluster.py",
    "tests/death/test_killed.py",
    "tests/death/test_killed_deletions.py",
    "tests/guides/test_tutorial.py",
)
"""The longest scopes start first, so that all processes end at about the same time."""


def scope(test: str) -> str:
    """The scope of the test with this id: tests of one service, or of one file, must share a process."""
    if REAL.search(test) or test.startswith(SANDBOX):
        return "sandbox"
    if test.startswith(SECOND_SANDBOX):
        return "second sandbox"
    if POSTGRESQL in test or test.startswith(REPLICAS):
        return "postgresql"
    if test.startswith(FORGES):
        return "forges"
    return "spark" if test.startswith(SPARK) else test.partition("::")[0]


def order(test: str) -> int:
    """The position of the test's scope in `LONG`; scopes that are not in it come last."""
    name = scope(test)
    return LONG.index(name) if name in LONG else len(LONG)
