"""What GitHub and GitLab are asked in each test of the contract, and what they answer: only the fields that matter.

The descriptions of the forges complete each answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.fake_forge import Exchange
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import ForgeKind

HEAD, FORKED, MERGED, OTHER = (Revision(digit * 40) for digit in "abcd")
HUB = "/repos/platform/connectors"
LAB = "/projects/platform%2Fconnectors"
CREATED = "2026-11-21T10:00:00Z"
OUTDATED = 7
"""The id of an annotation of an earlier commit."""


def exchanges(kind: ForgeKind, test: str) -> Sequence[Exchange]:
    """The exchanges of one test of the contract."""
    return (GITHUB if kind is ForgeKind.GITHUB else GITLAB)[test]


def _pull(number: int, title: str, author: str, **more: Any) -> dict[str, Any]:
    repository = {"id": 1}
    return {
        "number": number,
        "title": title,
        "user": {"login": author},
        "head": {"sha": HEAD, "ref": "orders", "repo": repository},
        "base": {"ref": "main", "repo": repository},
        "html_url": f"https://github.com/platform/connectors/pull/{number}",
        "draft": False,
        **more,
    }


def _merge_request(number: int, title: str, author: str, **more: Any) -> dict[str, Any]:
    return {
        "iid": number,
        "title": title,
        "author": {"username": author},
        "sha": HEAD,
        "target_branch": "main",
        "source_project_id": 1,
        "target_project_id": 1,
        "web_url": f"https://gitlab.com/platform/connectors/-/merge_requests/{number}",
        "draft": False,
        **more,
    }


def _comment(number: int, author: str, body: str, kind: ForgeKind, *, edited: bool = False) -> dict[str, Any]:
    is_github = kind is ForgeKind.GITHUB
    account = {"user": {"login": author}} if is_github else {"author": {"username": author}, "system": False}
    updated = "2026-11-21T10:05:00Z" if edited else CREATED
    return {"id": number, **account, "body": body, "created_at": CREATED, "updated_at": updated}


def _newer_plan(kind: ForgeKind) -> dict[str, Any]:
    return _comment(501, "gitops", "a newer plan", kind, edited=True)


def _status(state: str, name: str) -> dict[str, Any]:
    return {name: "gitops-connect/plan", "state": state, "description": "x" * 140, "target_url": "https://x.example/1"}


FORK = {"head": {"sha": FORKED, "ref": "rewind", "repo": {"id": 2}}}
COMMENT = f"{HUB}/issues/1/comments"
MARKED = "\n\n<!-- gitops-connect annotation -->"
PATCH = "@@ -0,0 +1,2 @@\n+line1: 1\n+line2: 2"


def _annotation(line: int, title: str, message: str) -> dict[str, Any]:
    body = f"**gitops-connect: {title}**\n\n```text\n{message}\n```{MARKED}"
    return {"path": "orders.yaml", "line": line, "body": body}


SHOWN = [_annotation(1, "Error", "no such class"), _annotation(2, "Warning", "unknown key")]

GITHUB: dict[str, list[Exchange]] = {
    "user": [Exchange("GET /user", {"login": "gitops"})],
    "permissions of the account": [
        Exchange(f"GET {HUB}", {"permissions": {"pull": True, "push": True, "admin": False}}),
    ],
    "open": [
        Exchange(
            f"GET {HUB}/pulls?state=open&base=main&per_page=100",
            [_pull(2, "Rewind orders", "rita", draft=True, **FORK)],
            has_next=True,
        ),
        Exchange(f"GET {HUB}/pulls?state=open&base=main&per_page=100&page=2", [_pull(1, "Add orders", "wendy")]),
    ],
    "is open": [
        Exchange(f"GET {HUB}/pulls/1", _pull(1, "Add orders", "wendy", state="open")),
        Exchange(f"GET {HUB}/pulls/4", _pull(4, "Add sinks", "wendy", state="closed")),
        Exchange(
            f"GET {HUB}/pulls/3", _pull(3, "Next", "wendy", state="open", base={"ref": "next", "repo": {"id": 1}})
        ),
    ],
    "merged": [
        Exchange(
            f"GET {HUB}/commits/{MERGED}/pulls?per_page=100",
            [
                _pull(4, "Add sinks", "wendy", merged_at="2026-11-21T10:00:00Z"),
                _pull(1, "Add orders", "wendy", merged_at=None),
                _pull(5, "Next", "wendy", merged_at="2026-11-21T10:00:00Z", base={"ref": "next", "repo": {"id": 1}}),
            ],
        ),
        Exchange(f"GET {HUB}/commits/{OTHER}/pulls?per_page=100", []),
    ],
    "parents": [
        Exchange(f"GET {HUB}/git/commits/{MERGED}", {"parents": [{"sha": OTHER}, {"sha": HEAD}]}),
        Exchange(f"GET {HUB}/git/commits/{OTHER}", {"parents": []}),
    ],
    "comments": [
        Exchange(
            f"GET {COMMENT}?per_page=100",
            [_comment(n + 1, "wendy", f"comment {n}", ForgeKind.GITHUB) for n in range(100)],
            has_next=True,
        ),
        Exchange(
            f"GET {COMMENT}?per_page=100&page=2",
            [_comment(n + 1, "wendy", f"comment {n}", ForgeKind.GITHUB) for n in range(100, 102)],
        ),
        Exchange(f"POST {COMMENT}", {"id": 501, "body": "a plan"}, 201, {"body": "a plan"}),
        Exchange(f"PATCH {HUB}/issues/comments/501", {"id": 501}, 200, {"body": "a newer plan"}),
        Exchange(
            f"GET {COMMENT}?per_page=100", [_comment(501, "gitops", "a newer plan", ForgeKind.GITHUB, edited=True)]
        ),
    ],
    "deleted comment": [
        Exchange(f"PATCH {HUB}/issues/comments/999999", {"message": "Not Found"}, 404, {"body": "a plan"}),
        Exchange(f"POST {COMMENT}", {"id": 502, "body": "a plan"}, 201, {"body": "a plan"}),
    ],
    "statuses": [
        Exchange(f"POST {HUB}/statuses/{HEAD}", {}, 201, _status(state, "context"))
        for state in ("pending", "pending", "failure", "success")
    ],
    "permissions": [
        Exchange(f"GET {HUB}/collaborators/wendy/permission", {"permission": "write"}),
        Exchange(f"GET {HUB}/collaborators/rita/permission", {"permission": "read"}),
        Exchange(f"GET {HUB}/collaborators/nobody/permission", {"message": "Not Found"}, 404),
    ],
    "annotations": [
        Exchange("GET /user", {"login": "gitops"}),
        Exchange(f"GET {HUB}/pulls/1/files?per_page=100", [{"filename": "orders.yaml", "patch": PATCH}]),
        Exchange(
            f"GET {HUB}/pulls/1/comments?per_page=100",
            [
                {"id": 5, "user": {"login": "wendy"}, **SHOWN[0]},
                {"id": 6, "user": {"login": "gitops"}, **SHOWN[0]},
                {"id": OUTDATED, "user": {"login": "gitops"}, **SHOWN[0], "line": 9},
            ],
        ),
        Exchange(f"DELETE {HUB}/pulls/comments/{OUTDATED}", status=204),
        Exchange(
            f"POST {HUB}/pulls/1/reviews",
            {},
            200,
            {"commit_id": HEAD, "event": "COMMENT", "comments": [{**SHOWN[1], "side": "RIGHT"}]},
        ),
    ],
}

NOTES = f"{LAB}/merge_requests/1/notes"
SORTED = "order_by=created_at&sort=asc&per_page=100"
USER = Exchange("GET /user", {"username": "gitops", "web_url": "https://gitlab.com/gitops"})
OPENED = f"GET {LAB}/merge_requests?state=opened&target_branch=main&per_page=100"

GITLAB: dict[str, list[Exchange]] = {
    "user": [USER],
    "permissions of the account": [
        Exchange("GET /personal_access_tokens/self", {"scopes": ["api"]}),
        USER,
        Exchange("GET /users?username=gitops", [{"id": 5, "username": "gitops"}]),
        Exchange(f"GET {LAB}/members/all/5", {"access_level": 30, "state": "active"}),
    ],
    "open": [
        Exchange(
            OPENED,
            [_merge_request(2, "Rewind orders", "rita", sha=FORKED, source_project_id=2, draft=True)],
            has_next=True,
        ),
        Exchange(
            f"{OPENED}&page=2", [_merge_request(1, "Add orders", "wendy"), _merge_request(9, "-", "rita", sha=None)]
        ),
    ],
    "is open": [
        Exchange(f"GET {LAB}/merge_requests/1", _merge_request(1, "Add orders", "wendy", state="opened")),
        Exchange(f"GET {LAB}/merge_requests/4", _merge_request(4, "Add sinks", "wendy", state="merged")),
        Exchange(
            f"GET {LAB}/merge_requests/3",
            _merge_request(3, "Next", "wendy", state="opened", target_branch="next"),
        ),
    ],
    "merged": [
        Exchange(
            f"GET {LAB}/repository/commits/{MERGED}/merge_requests?per_page=100",
            [
                _merge_request(4, "Add sinks", "wendy", state="merged"),
                _merge_request(1, "Add orders", "wendy", state="opened"),
                _merge_request(5, "Next", "wendy", state="merged", target_branch="next"),
            ],
        ),
        Exchange(f"GET {LAB}/repository/commits/{OTHER}/merge_requests?per_page=100", []),
    ],
    "parents": [
        Exchange(f"GET {LAB}/repository/commits/{MERGED}?stats=false", {"parent_ids": [OTHER, HEAD]}),
        Exchange(f"GET {LAB}/repository/commits/{OTHER}?stats=false", {"parent_ids": []}),
    ],
    "comments": [
        Exchange(
            f"GET {NOTES}?{SORTED}",
            [_comment(n + 1, "wendy", f"comment {n}", ForgeKind.GITLAB) for n in range(100)],
            has_next=True,
        ),
        Exchange(
            f"GET {NOTES}?{SORTED}&page=2",
            [
                _comment(101, "wendy", "comment 100", ForgeKind.GITLAB),
                {**_comment(200, "wendy", "added 1 commit", ForgeKind.GITLAB), "system": True},
                _comment(102, "wendy", "comment 101", ForgeKind.GITLAB),
            ],
        ),
        Exchange(f"POST {NOTES}", {"id": 501, "body": "a plan"}, 201, {"body": "a plan"}),
        Exchange(f"PUT {NOTES}/501", {"id": 501}, 200, {"body": "a newer plan"}),
        Exchange(f"GET {NOTES}?{SORTED}", [_newer_plan(ForgeKind.GITLAB)]),
    ],
    "deleted comment": [
        Exchange(f"PUT {NOTES}/999999", {"message": "404 Note Not Found"}, 404, {"body": "a plan"}),
        Exchange(f"POST {NOTES}", {"id": 502, "body": "a plan"}, 201, {"body": "a plan"}),
    ],
    "statuses": [
        Exchange(f"POST {LAB}/statuses/{HEAD}", {}, 201, _status("pending", "name")),
        Exchange(
            f"POST {LAB}/statuses/{HEAD}",
            {"message": "Cannot transition status via :enqueue from :pending"},
            400,
            _status("pending", "name"),
        ),
        Exchange(f"POST {LAB}/statuses/{HEAD}", {}, 201, _status("failed", "name")),
        # The description of GitLab says 200, its documentation 201.
        Exchange(f"POST {LAB}/statuses/{HEAD}", {}, 200, _status("success", "name")),
    ],
    "permissions": [
        Exchange("GET /users?username=wendy", [{"id": 3, "username": "wendy"}]),
        Exchange(f"GET {LAB}/members/all/3", {"access_level": 30, "state": "active"}),
        Exchange("GET /users?username=rita", [{"id": 4, "username": "rita"}]),
        Exchange(f"GET {LAB}/members/all/4", {"access_level": 20}),
        Exchange("GET /users?username=nobody", []),
    ],
    "annotations": [],
}
