"""A forge with hostile answers: `doctor` reports a named error within limits of memory and time."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from standin.connect import StandIn
from standin.faults import Parts
from standin.raw_answers import ALWAYS, drops, head, whole

from hostile.packed import bomb, gigabyte, gzip_of_zeros
from hostile.place import BOUNDS, Bounds, Place, graded

PULLS = r".*/(pulls|merge_requests)\?.*"
HUGE = 8 * 1024**2 - 1000
"""Bytes below the largest answer."""
STRUCTURES = Bounds(384)
"""Small values need 30 times as much memory as their JSON."""


@dataclass(frozen=True)
class Row:
    """The answer to the list of pull requests, and a part of the expected output."""

    id: str
    parts: Parts
    says: str
    kind: str = "gitea"
    pause: float = 0.0
    bounds: Bounds = BOUNDS


def nested_bomb() -> Iterator[bytes]:
    yield head(200, "Content-Encoding: gzip, gzip")
    yield gzip.compress(gzip_of_zeros(8 * 1024**3))


def endless_ones(*before: bytes) -> Iterator[bytes]:
    yield head(200, "Transfer-Encoding: chunked")
    yield from before
    yield from itertools.repeat(b"1" * 65536)


def interim_answers() -> Iterator[bytes]:
    yield from itertools.repeat(b"HTTP/1.1 100 Continue\r\nX: " + b"1" * 60_000 + b"\r\n\r\n")


def filled(value: bytes) -> Iterator[bytes]:
    yield from whole(b"[" + b",".join([value] * (HUGE // (len(value) + 1))) + b"]")()


TOO_LARGE = "larger than 8,388,608 bytes"
VERY_LARGE = {"head": {"repo_id": 1}, "base": {"repo_id": 10**400}}
SLOW = "did not answer within [forge] timeout"
ROWS = (
    Row("a gigabyte", gigabyte, TOO_LARGE),
    Row("a gigabyte of GitHub", gigabyte, TOO_LARGE, "github"),
    Row("a gigabyte of GitLab", gigabyte, TOO_LARGE, "gitlab"),
    Row("8 GiB in 8 MiB", bomb, TOO_LARGE),
    Row("8 GiB in a few KiB", nested_bomb, TOO_LARGE),
    Row("a chunk whose length never ends", endless_ones, "no valid HTTP"),
    Row("a trailer that never ends", partial(endless_ones, b"0\r\nX: "), "cannot list the open pull requests"),
    Row("interim answers without an end", interim_answers, SLOW),
    Row("a byte now and then", lambda: drops(head(200)), SLOW, pause=0.1),
    Row("a page that is always followed", whole(b"[]", 200, 'Link: </x>; rel="next"'), "more than 10,000 results"),
    Row("lists", partial(filled, b"[]"), "more than 10,000 results", bounds=STRUCTURES),
    Row("objects", partial(filled, b'{"a":1}'), "more than 10,000 results", bounds=STRUCTURES),
    Row("nesting", whole(b"[" * HUGE), "it is no JSON"),
    Row("digits", whole(b"[" + b"9" * HUGE + b"]"), "it is no JSON"),
    Row("an error of 8 MiB", whole(b'{"message": "' + b"a-token " * (HUGE // 8) + b'"}', 500), "HTTP 500"),
    Row("an error of objects", whole(b'{"message": [' + b'{"a":1},' * (HUGE // 9) + b"1]}", 500), "HTTP 500"),
    Row("a very large number", whole(json.dumps([VERY_LARGE]).encode()), "expected a number"),
)


@pytest.mark.parametrize("row", graded(ROWS))
def test_an_answer_of_a_forge_has_limits(tmp_path: Path, row: Row) -> None:
    with StandIn() as forge, StandIn() as connect:
        forge.stream("GET", PULLS, row.parts, times=ALWAYS, pause=row.pause)
        for path, answer in (
            ("/user", {"login": "gitops", "username": "gitops"}),
            ("/personal_access_tokens/self", {"scopes": ["api"]}),
            (r"/users\?.*", [{"id": 5, "username": "gitops"}]),
            ("/members/all/5", {"access_level": 30, "state": "active"}),
            ("/issues/comments.*", []),
            ("/.*", {"permissions": {"admin": True, "push": True}}),
        ):
            forge.stream("GET", f".*{path}", whole(json.dumps(answer).encode()), times=ALWAYS)
        place = Place(tmp_path)
        place.repository.mkdir()
        place.settings(
            f'[clusters.local]\nurl = "{connect.url}"\n[repository]\nurl = "{tmp_path}/repository"\n'
            f'[forge]\nkind = "{row.kind}"\nurl = "{forge.url}"\nrepository = "a/b"\ntimeout = "5s"\n'
            'token = {env = "CONNECT_PASSWORD"}\n'
        )
        place.write("README.md", "")
        place.commit()
        ran = place.run("doctor", bounds=row.bounds)
    assert row.says in ran.said, ran.said[-2000:]
