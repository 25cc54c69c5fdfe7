"""What a shell completes: clusters and managed connectors, but no name that the shell would run, and no secret."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from acceptance.workplace import Ran, run_apart, run_here
from support.files.tables import rows, table

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.ownership import Origin, Ownership

pytestmark = pytest.mark.slow

SETTINGS = """\
[clusters.prod]
url = ["http://127.0.0.1:1"]
password = {file = "missing"}
[clusters.proto]
url = ["http://127.0.0.1:2"]
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings whose credential does not exist, and a ledger."""
    at = tmp_path_factory.mktemp("user")
    (at / "gitops-connect.toml").write_text(SETTINGS)
    (at / "elsewhere.toml").write_text(
        '[clusters.x]\nurl = ["http://127.0.0.1:1"]\n[state]\nurl = "postgresql://db/x"\n'
    )
    (at / "broken.toml").write_text("[")
    now = datetime(2026, 11, 27, tzinfo=UTC)
    with closing(Ledger.open("sqlite:///state.db", at, None)) as ledger:
        for cluster, names in table(__file__, "managed").items():
            for name in names:
                ledger.record(Ownership(ClusterName(cluster), ConnectorName(name), Origin.CREATED, Revision("a"), now))
    return at


def complete(directory: Path, words: str, *program: str) -> Ran:
    """Run a program as bash does for these words."""
    variables = {"COMP_WORDS": f"gitops-connect {words}", "COMP_CWORD": str(len(words.split(" ")))}
    variables["_GITOPS_CONNECT_COMPLETE"] = "complete_bash"
    return run_apart([sys.executable, *program], cwd=directory, env={**os.environ, **variables})


@pytest.mark.parametrize(("words", "offered"), rows(__file__, "offered"))
def test_what_is_offered(directory: Path, words: str, offered: list[str]) -> None:
    ran = complete(directory, words, "-m", "gitops_connect.cli.main").expect(0, err="")
    assert ran.out.split() == offered


def test_an_empty_variable_of_a_shell_completes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GITOPS_CONNECT_COMPLETE", "")
    run_here("version").expect(0, out="gitops-connect")


@pytest.mark.parametrize("words", ["status --cluster pr", "offsets get orders"])
def test_no_command_and_no_library_but_that_of_the_command_line_is_imported(directory: Path, words: str) -> None:
    program = "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))"
    ran = complete(directory, words, "-c", f"{program}; from gitops_connect.cli.main import main; main()").expect(0)
    imported = set(ran.err.split())
    assert "typer" in imported
    unneeded = {"requests", "rich", "sqlalchemy", "yaml", "gitops_connect.runtime"}
    assert not imported & unneeded
