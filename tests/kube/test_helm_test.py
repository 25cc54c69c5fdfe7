"""`helm test` runs `doctor` in a Pod. Here its command is a process, with the files and the environment of that Pod."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from acceptance.workplace import Ran, run_apart
from standin.connect import StandIn
from support.daemon_log import PROGRAM
from support.git.upstream import Upstream

from kube.mounted_pod import MountedPod
from kube.rendering import rendered
from kube.test_chart import values_of

pytestmark = pytest.mark.slow

SECRETS = {"gitops-connect": {"read-token": "a-token-of-the-tests"}, "connectors": {"orders-db": "correct-horse"}}


def values(repository: str, connect: str) -> dict[str, Any]:
    """Values of an installation that works."""
    settings = {
        "repository": {"url": repository, "password": None},
        "clusters": {"prod": {"url": [connect]}},
        "secrets": {"files": ["/run/secrets/connectors"]},
    }
    return values_of({"values": {"secrets": [*SECRETS], "settings": settings}})


def doctor(tools: Path, standin: StandIn, secrets: Mapping[str, Mapping[str, str]], directory: Path) -> Ran:
    upstream = Upstream.create(directory / "repository.git")
    upstream.commit({"clusters/prod/nothing.txt": ""})
    root = directory / "root"
    text = rendered(tools, values(str(upstream.directory), standin.url))
    pod = MountedPod(text, secrets, root, prefix=str(root))
    return run_apart([*PROGRAM, *pod.arguments], env={**os.environ, **pod.environment}, cwd=directory)


def test_the_doctor_of_helm_test_finds_no_problem(tools: Path, standin: StandIn, tmp_path: Path) -> None:
    ran = doctor(tools, standin, SECRETS, tmp_path).expect(0)
    assert f"{tmp_path}/root/var/lib/gitops-connect/state.db" in ran.out
    assert not any(value in ran.out + ran.err for secret in SECRETS.values() for value in secret.values())


def test_the_doctor_of_helm_test_names_a_key_that_is_missing(tools: Path, standin: StandIn, tmp_path: Path) -> None:
    token = f"cannot read the credential file {tmp_path}/root/run/secrets/gitops-connect/read-token"
    doctor(tools, standin, {**SECRETS, "gitops-connect": {}}, tmp_path).expect(1, out=token)
