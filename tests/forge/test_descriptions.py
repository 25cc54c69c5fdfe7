"""The check of requests and answers finds what is not described."""

from __future__ import annotations

import pytest

from forge.descriptions import Description


def test_what_is_not_described_is_found() -> None:
    described = Description.of_gitlab()
    described.check_request("GET", "/projects/a%2Fb/merge_requests", {"state": "opened", "per_page": "100"}, None)
    for method, path, query, body, words in (
        ("GET", "/projects/a%2Fb/pulls", {}, None, "has no GET"),
        ("GET", "/projects/a%2Fb/merge_requests", {"base": "main"}, None, "unknown parameters"),
        ("GET", "/projects/a%2Fb/merge_requests", {"state": "open"}, None, "'open' is not one of"),
        ("GET", "/projects/a%2Fb/merge_requests", {"per_page": "101"}, None, "greater than the maximum"),
        ("GET", "/projects/a%2Fb/repository/commits/c", {"stats": "1"}, None, "1 is not of type 'boolean'"),
        ("POST", "/projects/a%2Fb/statuses/c", {}, {"state": "failure"}, "'failure' is not one of"),
        ("POST", "/projects/a%2Fb/statuses/c", {}, {"name": "plan"}, "'state' is a required property"),
        ("POST", "/projects/a%2Fb/statuses/c", {}, {"status": "failed"}, "unknown fields"),
    ):
        with pytest.raises(AssertionError, match=words):
            described.check_request(method, path, query, body)
    with pytest.raises(AssertionError, match="'7' is not of type 'integer'"):
        described.answer("GET", "/projects/a%2Fb/merge_requests", 200, [{"author": {"id": "7"}}])
    (found,) = described.answer("GET", "/projects/a%2Fb/merge_requests", 200, [{"sha": "c"}])
    assert (found["sha"], found["merge_commit_sha"], found["author"]["state"]) == ("c", None, "active")
