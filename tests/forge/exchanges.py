"""What GitHub and GitLab are asked in each test of the contract, and what they answer: `exchanges.yaml`.

The descriptions of the forges complete each answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.files.tables import read_yaml

from forge.fake_forge import Exchange
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import ForgeKind

HEAD, FORKED, MERGED, OTHER = (Revision(digit * 40) for digit in "abcd")
HUB = "/repos/platform/connectors"
LAB = "/projects/platform%2Fconnectors"
OPENED = f"GET {LAB}/merge_requests?state=opened&target_branch=main&per_page=100"
_FOUND = read_yaml(Path(__file__).with_suffix(".yaml"))
GITEA_ANSWERS: dict[str, Any] = _FOUND["gitea"]


def exchanges(kind: ForgeKind, test: str) -> Sequence[Exchange]:
    """The exchanges of one test of the contract."""
    found = _FOUND[kind.value][test]
    return [Exchange(**{**one, "answer": _answer(kind, one.get("answer"))}) for one in found]


def _answer(kind: ForgeKind, answer: Any) -> Any:
    """The answer, in which `comments 0 to 99` are comments with these numbers."""
    if not isinstance(answer, str):
        return answer
    first, last = map(int, re.findall("[0-9]+", answer))
    is_github = kind is ForgeKind.GITHUB
    account = {"user": {"login": "wendy"}} if is_github else {"author": {"username": "wendy"}, "system": False}
    times = dict.fromkeys(("created_at", "updated_at"), "2026-11-21T10:00:00Z")
    return [{"id": one + 1, **account, "body": f"comment {one}", **times} for one in range(first, last + 1)]
