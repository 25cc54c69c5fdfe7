"""The check of requests and answers finds what is not described."""

from __future__ import annotations

import pytest
from support.files.tables import rows

from forge.descriptions import Description


def test_what_is_not_described_is_found() -> None:
    described = Description.of_gitlab()
    described.check_request("GET", "/projects/a%2Fb/merge_requests", {"state": "opened", "per_page": "100"}, None)
    for words, method, path, query, body in rows(__file__, "requests"):
        with pytest.raises(AssertionError, match=words):
            described.check_request(method, f"/projects/a%2Fb/{path}", query, body)
    with pytest.raises(AssertionError, match="'7' is not of type 'integer'"):
        described.answer("GET", "/projects/a%2Fb/merge_requests", 200, [{"author": {"id": "7"}}])
    (found,) = described.answer("GET", "/projects/a%2Fb/merge_requests", 200, [{"sha": "c"}])
    assert (found["sha"], found["merge_commit_sha"], found["author"]["state"]) == ("c", None, "active")
