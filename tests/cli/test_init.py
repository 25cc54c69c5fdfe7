"""`gitops-connect init`: a repository whose first plan works, and that overwrites nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest
import yaml
from acceptance.workplace import SINK, SOURCE, run_apart, run_here
from standin.connect import StandIn
from support.files.tables import rows

pytestmark = pytest.mark.slow

FILES = ["gitops-connect.toml", ".gitignore", "README.md", ".gitops-connect/documents.schema.json"]
EXAMPLE = "clusters/local/example.yaml"


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout


def written(directory: Path) -> list[str]:
    """The files of a directory, without those of Git."""
    files = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    return sorted(file for file in files if not file.startswith(".git/"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the working directory."""
    directory = tmp_path / "connectors"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def test_an_empty_directory(here: Path) -> None:
    run_here("init").expect(0, out="created: gitops-connect.toml\n", err="Next: gitops-connect plan\n")
    assert written(here) == sorted([*FILES, EXAMPLE])
    run_here("validate", "--offline").expect(0, out="no problems in 0 documents")
    before = {file: (here / file).read_text() for file in written(here)}
    run_here("init").expect(0, out=[f"exists already: {file}\n" for file in before])
    assert {file: (here / file).read_text() for file in written(here)} == before


def test_git_ignores_the_settings_also_beside_a_gitignore_that_exists(here: Path) -> None:
    git(here, "init", "-q")
    (here / ".gitignore").write_text("node_modules\n")
    run_here("init").expect(0, err="lets Git ignore the settings now")
    git(here, "add", "-A")
    assert "gitops-connect.toml" not in git(here, "ls-files").split()


def test_a_clone_gets_no_second_cluster(here: Path) -> None:
    git(here, "init", "-q")
    git(here, "remote", "add", "origin", "https://gitlab.com/acme/github-connectors.git")
    run_here("init", "--cluster", "prod").expect(0, out="created: .gitlab-ci.yml\n")
    (here / "gitops-connect.toml").unlink()
    assert "gitops-connect init --cluster prod" in (here / "README.md").read_text()
    run_here("init", "--cluster", "prod").expect(0, out="created: gitops-connect.toml\n")
    run_here("init", "--cluster", "other").expect(0)
    assert [one.name for one in (here / "clusters").iterdir()] == ["prod"]


def test_the_example_works(here: Path, standin: StandIn) -> None:
    run_here("init").expect(0)
    example = (here / EXAMPLE).read_text().splitlines()
    (here / EXAMPLE).write_text("\n".join([example[0], *(line[2:] for line in example[3:])]))
    settings = here / "gitops-connect.toml"
    settings.write_text(settings.read_text().replace("http://localhost:8083", standin.url))
    run_here("plan").expect(0, out="+ orders-source", err="Reading documents from the directory .")
    run_here("apply", "--yes").expect(0)
    run_here("status", "--exit-code", "-l", "team=payments").expect(0, out="Synced")
    run_here("explain", "connector", "orders-source").expect(0, out=f"Document: {EXAMPLE}:2:1")


def test_the_connectors_of_a_cluster(here: Path, standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    standin.cluster.create("orders", {"connector.class": SINK, "file": "/tmp/x", "topics": "orders"}, None)
    config = {"connector.class": SOURCE, "file": "/tmp/y", "topic": "a", "db.password": "hunter2"}
    standin.cluster.create("shop", config, None)
    ran = run_here("init", "--from-cluster", standin.url, "--cluster", "shop.prod")
    ran.expect(0, err=("Checked: the plan changes nothing on shop.prod", "not checked without their secrets: 1 value"))
    assert "hunter2" not in "".join((here / file).read_text() for file in written(here) if "state.db" not in file)
    monkeypatch.setenv("SHOP_DB_PASSWORD", "hunter2")
    run_here("plan", "--detailed-exitcode").expect(2, out="Plan: 2 to adopt, 0 to create, 0 to change, 0 to delete.")
    run_here("apply", "--yes").expect(0)
    run_here("plan", "--detailed-exitcode").expect(0)
    first = (here / "clusters/shop.prod/orders.yaml").read_text().splitlines()[0]
    schema = first.removeprefix("# yaml-language-server: $schema=")
    assert (here / "clusters/shop.prod" / schema).is_file()
    run_here("init", "--from-cluster", standin.url).expect(
        64, err="gitops-connect.toml exists; to import connectors, run"
    )


def test_a_cluster_without_connectors_or_without_an_answer(here: Path, standin: StandIn) -> None:
    run_here("init", "--from-cluster", "http://127.0.0.1:1").expect(1, err="no worker answered")
    assert written(here) == [], "nothing is written before a worker has answered"
    run_here("init", "new", "--from-cluster", standin.url).expect(0, err="Next: gitops-connect -C new plan\n")
    assert EXAMPLE in written(here / "new")


@pytest.mark.parametrize(("remote", "options", "workflow"), rows(__file__, "forges"))
def test_the_workflow_of_the_forge(here: Path, remote: str, options: list[str], workflow: str) -> None:
    git(here, "init", "--quiet")
    if remote:
        git(here, "remote", "add", "origin", remote)
    run_here("init", *options).expect(0)
    new = set(written(here)) - {*FILES, EXAMPLE}
    assert new == ({workflow} if workflow else set())
    for file in new:
        assert yaml.safe_load((here / file).read_text())
    assert "secret-token" not in "".join((here / file).read_text() for file in written(here))
    git(here, "add", "--all")
    assert "gitops-connect.toml" not in git(here, "ls-files"), "Git ignores the settings"


def test_a_directory_in_a_work_tree(here: Path) -> None:
    git(here, "init", "--quiet")
    git(here, "remote", "add", "origin", "https://github.com/acme/all.git")
    (here / "it's connect").mkdir()
    (here / "it's connect/.gitignore").write_text("*.pyc\n")
    run_here("init", "it's connect").expect(0, err="lets Git ignore the settings now")
    assert not (here / ".github").exists(), "a workflow of the whole repository must be asked for"
    run_here("init", "it's connect", "--forge", "github", "--package", "gitops-connect==1").expect(0)
    (step,) = [one for one in workflow(here)["jobs"]["validate"]["steps"] if one.get("name") == "Validate"]
    assert """-- 'it'"'"'s connect' """ in step["run"]


def workflow(directory: Path) -> Mapping[str, object]:
    found: Mapping[str, object] = yaml.safe_load((directory / ".github/workflows/connectors.yml").read_text())
    return found


@pytest.mark.parametrize(("forge", "shown"), rows(__file__, "jobs"))
def test_the_job_reports_the_problems_of_a_pull_request(here: Path, tmp_path: Path, forge: str, shown: str) -> None:
    run_here("init", "--forge", forge).expect(0)
    (here / "clusters/local/::error::x.yaml").write_text("apiVersion: gitops-connect/v1\nkind: Connectr\n")
    (here / "gitops-connect.toml").write_text("not settings at all")
    (path,) = (here / file for file in written(here) if "workflows" in file or file.startswith(".gitlab"))
    job = yaml.safe_load(path.read_text())
    lines = job["connectors"]["script"][1:] if forge == "gitlab" else [job["jobs"]["validate"]["steps"][-1]["run"]]
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path)}
    variables = {**environment, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "HOME": os.environ["HOME"]}
    ran = run_apart(["bash", "-c", "\n".join(lines)], cwd=here, env=variables).expect(4, out=shown)
    assert not [line for line in ran.out.splitlines() if line.startswith("::error::")]


@pytest.mark.parametrize(("document", "valid"), rows(__file__, "documents"))
def test_the_schema_for_editors(here: Path, document: str, *, valid: bool) -> None:
    run_here("init").expect(0)
    schema = json.loads((here / ".gitops-connect/documents.schema.json").read_text())
    found = jsonschema.Draft202012Validator(schema).is_valid(yaml.safe_load(document))
    assert found is valid


@pytest.mark.parametrize(("options", "error"), rows(__file__, "refused"))
def test_what_is_refused(here: Path, options: list[str], error: str) -> None:
    run_here("init", *options).expect(64, err=error)
    assert written(here) == []
