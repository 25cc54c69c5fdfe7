"""What can be checked without building the image. `tests/image` builds it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def instructions(text: str) -> list[tuple[str, str]]:
    """Each instruction with its arguments, without comments and with lines joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines).splitlines()
    return [(line.split()[0].upper(), line.split(maxsplit=1)[1]) for line in joined if line.strip()]


DOCKERFILE = instructions((ROOT / "Dockerfile").read_text())
LAST_STAGE = DOCKERFILE[max(number for number, (name, _) in enumerate(DOCKERFILE) if name == "FROM") :]


def copied() -> set[str]:
    """The paths that are copied from the build context."""
    found: set[str] = set()
    for name, arguments in DOCKERFILE:
        if name in {"COPY", "ADD"} and not arguments.startswith("--from="):
            found.update(word.rstrip("/") for word in arguments.split()[:-1])
    return found


def final(name: str) -> str:
    """The last value of an instruction in the last stage, which is the value of the image."""
    return [arguments for instruction, arguments in LAST_STAGE if instruction == name][-1]


def test_it_runs_as_a_numbered_user_that_is_not_root() -> None:
    user, group = final("USER").split(":")
    assert int(user) > 0
    assert int(group) > 0


def test_signals_reach_the_program_because_no_shell_is_between() -> None:
    assert json.loads(final("ENTRYPOINT"))[-1] == "gitops-connect"
    assert json.loads(final("CMD")) == ["run"]


def test_all_stages_have_the_same_base_which_is_an_argument() -> None:
    assert {arguments.split()[0] for name, arguments in DOCKERFILE if name == "FROM"} == {"${BASE}"}


def test_everything_that_the_wheel_is_made_of_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    parts = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"]}
    assert parts | set(project["project"]["license-files"]) <= copied()
    assert [source for source in copied() if not (ROOT / source).exists()] == []


def test_every_download_of_pip_has_a_hash() -> None:
    """What comes from a local directory was made from files with hashes."""
    steps = [
        step for _, arguments in DOCKERFILE for step in re.split(r"\s+&&\s+|\s+$", arguments) if "/bin/pip " in step
    ]
    downloads = [step for step in steps if "--no-index" not in step and not step.endswith(" .")]
    assert len(downloads) == 2
    assert all("--require-hashes" in step and "--no-deps" in step for step in downloads)
    assert all("--no-build-isolation" in step for step in steps if "pip wheel" in step)


def test_nothing_but_what_is_copied_goes_into_a_build() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    assert {pattern[1:].rstrip("/") for pattern in patterns if pattern.startswith("!")} == copied()


def test_no_setting_is_baked_in_because_it_would_win_over_the_settings_file() -> None:
    assert not re.search(r"GITOPS_CONNECT_(CONFIG|\w+__\w+)", " ".join(arguments for _, arguments in LAST_STAGE))
