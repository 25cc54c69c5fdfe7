"""The action for GitHub and the template for GitLab: their schemas, and their scripts as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from server.conftest import client, ledger_directory, made, serve, url
from standin.connect import StandIn
from standin.fixtures import standin
from support.docs.docs_pages import DOCS, ROOT, code
from support.files.document_files import connector
from support.files.tables import read_yaml

__all__ = ["client", "ledger_directory", "made", "serve", "standin", "url"]

pytestmark = pytest.mark.slow

ACTION: dict[str, Any] = read_yaml(ROOT / "action.yml")
TEMPLATE = (ROOT / "deploy" / "gitlab-ci.yml").read_text()
SPEC, JOBS = yaml.safe_load_all(TEMPLATE)
INPUT = re.compile(r"\$\[\[ inputs\.(\w+) \]\]")
HOSTILE = "$(touch executed);`touch executed`\" --offline '\n::add-mask::x"
"""As a name of a directory, and as an argument."""


@dataclass(frozen=True)
class Ran:
    """A script that ended, and the project in which it ran."""

    code: int
    out: str
    project: Path

    def file(self, name: str) -> str:
        return (self.project.parent / name).read_text()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The checkout of a change with a bad document. It also tries to be executed, and to provide settings."""
    at = tmp_path / "project"
    for directory in ("connectors", HOSTILE):
        (at / directory / "clusters" / "local").mkdir(parents=True)
        (at / directory / "clusters" / "local" / "bad.yaml").write_text(connector("a", "  clas: x\n"))
    for module in ("sitecustomize", "venv", "pip", "yaml"):
        (at / f"{module}.py").write_text("import pathlib; pathlib.Path('executed').touch()")
    (at / "gitops-connect.toml").write_text("not settings at all")
    return at


def run(project: Path, shell: list[str], script: str, variables: dict[str, str]) -> Ran:
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": os.environ["HOME"],
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    ended = subprocess.run(
        [*shell, "-c", script], cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert not (project / "executed").exists(), "content of the change was executed"
    return Ran(ended.returncode, ended.stdout + ended.stderr, project)


def run_action(project: Path, **inputs: str) -> Ran:
    """Run the second step: the first one has installed gitops-connect."""
    (project.parent / "gitops-connect").mkdir(exist_ok=True)
    given = {name: str(one["default"]) for name, one in ACTION["inputs"].items()} | inputs
    runner = {"RUNNER_TEMP": ".", "GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "output"}
    step = ACTION["runs"]["steps"][1]
    variables = {name: str(project.parent / file) for name, file in runner.items()} | {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")] for name, value in step["env"].items()
    }
    return run(project, ["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"], variables)


def gitlab_job(**inputs: str) -> Any:
    """The job, with the inputs in its values, as GitLab inserts them."""
    given = {name: one["default"] for name, one in SPEC["spec"]["inputs"].items()} | inputs

    def inserted(value: Any) -> Any:
        match value:
            case dict():
                return {inserted(name): inserted(inner) for name, inner in value.items()}
            case list():
                return [inserted(inner) for inner in value]
            case str():
                return INPUT.sub(lambda found: given[found[1]], value)
        return value

    return inserted(JOBS)


def run_gitlab(project: Path, shell: list[str], **inputs: str) -> Ran:
    (job,) = gitlab_job(**inputs).values()
    return run(project, shell, "\n".join(job["script"]), job["variables"])


@pytest.mark.parametrize(
    ("schema", "values", "wrong"),
    [
        ("github-actions", [ACTION], {**ACTION, "runs": {"using": "composite"}}),
        ("gitlab-ci", [SPEC, gitlab_job()], {"job": {"script": 1}}),
    ],
)
def test_the_forges_accept_the_syntax(tmp_path: Path, schema: str, values: list[Any], wrong: Any) -> None:
    """By their published schemas, of which the package check-jsonschema has copies."""
    texts = [tmp_path / f"{number}.json" for number in range(len(values) + 1)]
    for text, value in zip(texts, [*values, wrong], strict=True):
        text.write_text(json.dumps(value))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", "-o", "json", *texts]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert {error["filename"] for error in json.loads(ended.stdout)["errors"]} == {str(texts[-1])}, ended.stdout


def test_no_script_contains_an_expression() -> None:
    """The forge replaces an expression before the shell reads the script: its value could contain commands."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], step["name"]
    (job,) = JOBS.values()
    assert "$[[" not in "".join(job["script"])


def test_the_page_shows_inputs_that_exist() -> None:
    blocks = [one.text for one in code(DOCS / "how-to" / "run-in-ci.md") if one.language == "yaml"]
    for form, known in (("uses: OWNER/gitops-connect@", ACTION["inputs"]), ("include:", SPEC["spec"]["inputs"])):
        given = [found for block in blocks if form in block for found in shown_inputs(yaml.safe_load(block))]
        assert given, form
        assert set(given) <= set(known), form


def shown_inputs(value: Any) -> set[str]:
    """The keys of each `with` of the action, and of each `inputs`."""
    match value:
        case {"uses": str(uses), "with": dict(given)} if "gitops-connect@" in uses:
            return set(given)
        case {"inputs": dict(given)}:
            return set(given)
        case dict() | list():
            inner = value.values() if isinstance(value, dict) else value
            return set().union(*map(shown_inputs, inner))
    return set()


def test_the_action_annotates_the_lines_with_problems(project: Path) -> None:
    ran = run_action(project, directory="connectors")
    assert ran.code == 4
    assert "\n::error file=connectors/clusters/local/bad.yaml,line=6,col=3,title=schema/unknown-field::" in ran.out
    assert ran.out.endswith("1 error in 1 document\n")
    outputs = dict(line.split("=", 1) for line in ran.file("output").splitlines())
    assert outputs["exit-code"] == "4"
    assert Path(outputs["report"]).read_text() in ran.out


def test_the_action_shows_a_plan_as_the_summary(project: Path, standin: StandIn) -> None:
    """The log shows the plan while workflow commands are ignored."""
    settings = project.parent / "settings.toml"
    settings.write_text(f'[clusters.local]\nurl = ["{standin.url}"]\n')
    arguments = "--cluster\nlocal\n"
    ran = run_action(project, command="plan", directory=HOSTILE, settings=str(settings), arguments=arguments)
    assert ran.code == 4
    stop, *within, end = ran.out.splitlines()
    assert stop == f"::stop-commands::{end.strip(':')}"
    assert any(line.startswith("::add-mask::") for line in within), "the runner would have executed this command"
    assert "Connect cluster `local`" in ran.file("summary")
    assert ran.file("summary") in "\n".join(within)
    assert "exit-code=4" in ran.file("output")


def test_both_show_the_plan_of_the_daemon(project: Path, url: str) -> None:
    """The daemon has planned the pull request: neither the clusters nor a directory are needed."""
    arguments = f"12\n--server={url}\n--timeout=5s\n"
    ran = run_action(project, command="review", arguments=arguments)
    gitlab = run_gitlab(project, ["sh", "-e"], command="review", arguments=arguments)
    assert (ran.code, gitlab.code) == (0, 0), ran.out + gitlab.out
    assert ran.file("summary") == gitlab.file("project/gitops-connect-plan.md") == "**1 to create**\n"


@pytest.mark.parametrize("inputs", [{"arguments": HOSTILE}, {"command": HOSTILE}], ids=["arguments", "command"])
def test_no_input_is_executed(project: Path, inputs: dict[str, str]) -> None:
    assert run_action(project, **inputs).code == 64
    assert run_gitlab(project, ["sh", "-e"], **inputs).code == 64


@pytest.mark.parametrize(
    ("shell", "directory"), [(["bash", "-eo", "pipefail"], "connectors"), (["sh", "-e"], HOSTILE)], ids=["bash", "sh"]
)
def test_gitlab_gets_a_report_of_the_problems(project: Path, shell: list[str], directory: str) -> None:
    (project / "gitops-connect-problems.json").symlink_to(project / "gitops-connect.toml")
    ran = run_gitlab(project, shell, directory=directory, arguments="--offline")
    assert ran.code == 4
    assert "clusters/local/bad.yaml:6:3: error: unknown field 'clas'" in ran.out
    (problem,) = json.loads(ran.file("project/gitops-connect-problems.json"))
    assert problem["location"] == {"path": f"{directory}/clusters/local/bad.yaml", "lines": {"begin": 6}}
    assert ran.file("project/gitops-connect.toml") == "not settings at all"
