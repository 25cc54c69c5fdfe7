"""A Connect cluster with hostile answers: the error is reported, and the other cluster is planned anyway."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from standin.connect import StandIn
from standin.faults import Parts
from standin.raw_answers import ALWAYS, drops, endless, head, whole

from hostile.packed import bomb, gigabyte
from hostile.place import BOUNDS, SOURCE, Place, document, graded

PLAN = ("plan", "repository")
LIST = r"/connectors\?.*"
VALIDATE = "/connector-plugins/.*/validate"
OFFSETS = "/connectors/.*/offsets"
NESTED = 100_000
DEEP_LIST = b"[" * NESTED + b"]" * NESTED
DEEP_MESSAGE = b'{"error_code": 500, "message": ' + DEEP_LIST + b"}"


@dataclass(frozen=True)
class Row:
    """The answer to some requests, the command, and a part of the expected output."""

    id: str
    path: str
    parts: Parts
    says: str
    command: tuple[str, ...] = PLAN
    pause: float = 0.0


def endless_chunk_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    yield from itertools.repeat(b"X-More: " + b"y" * 4000 + b"\r\n")


def objects(begin: bytes = b"") -> Parts:
    return whole(begin + b'{"a":' * NESTED + b"1" + b"}" * NESTED)


def answer(value: Any) -> Parts:
    return whole(json.dumps(value).encode())


def redirect(target: bytes) -> Parts:
    return lambda: iter([b"HTTP/1.1 302 Found\r\nLocation: " + target + b"\r\nContent-Length: 0\r\n\r\n"])


TOO_LARGE = "max_answer"
NO_JSON = "not Connect's JSON"
TOO_SLOW = "did not answer within 2 s"

ANSWERS = [
    Row("endless whitespace", LIST, endless, TOO_LARGE),
    Row("1 GiB", LIST, gigabyte, TOO_LARGE),
    Row("endless whitespace to the first question", "/", endless, TOO_LARGE),
    Row("endless error", LIST, partial(endless, 500), NO_JSON),
    Row("endless offsets", OFFSETS, endless, TOO_LARGE, ("offsets", "get", "orders", "--cluster", "hostile")),
    Row("gzip bomb", LIST, partial(bomb, 200), TOO_LARGE),
    Row("gzip bomb as an error", LIST, partial(bomb, 500), NO_JSON),
    Row("endless headers", "/", endless_chunk_headers, "sent an answer that is not valid HTTP"),
    Row("a byte a second in the body", LIST, partial(drops, head(200, "Content-Length: 100000")), TOO_SLOW, pause=1),
    Row("a byte a second without a length", LIST, partial(drops, head(200)), TOO_SLOW, pause=1),
    Row("a byte a second in the headers", "/", partial(drops, b"HTTP/1.1 200 OK\r\n", b"X: "), TOO_SLOW, pause=1),
    Row("a byte a second in an error", LIST, partial(drops, head(500)), TOO_SLOW, pause=1),
    Row("deep lists", LIST, whole(DEEP_LIST), NO_JSON),
    Row("deep objects", LIST, objects(), NO_JSON),
    Row("deep root", "/", objects(), NO_JSON),
    Row("deep error", LIST, whole(DEEP_LIST, 500), NO_JSON),
    Row("deep message of an error", LIST, whole(DEEP_MESSAGE, 500), NO_JSON),
    Row("deep offsets", OFFSETS, objects(b'{"offsets":'), "not", ("offsets", "get", "orders", "--cluster", "hostile")),
    Row("redirect with control characters", LIST, redirect(b"http://a/\x1b[31m\x07"), "redirects to"),
    Row("redirect to an address that is none", LIST, redirect(b"http://[:::"), "redirects to"),
    Row("a number as the list", LIST, answer(5), "not an answer of Kafka Connect"),
    Row("a number of 400 digits", LIST, whole(b"1" * 400), "not an answer of Kafka Connect"),
    Row("a number of 5,000 digits", LIST, whole(b"1" * 5000), NO_JSON),
    Row("not UTF-8", LIST, whole(b'{"\xff\xfe": 1}'), NO_JSON),
    Row("a page of HTML", "/.*", whole(b"<html>login</html>"), NO_JSON),
]


def place_of(directory: Path, hostile: StandIn, fine: StandIn) -> Place:
    place = Place(directory)
    place.settings(
        f'[secrets]\nenv = ["DB_PIN"]\n[clusters.hostile]\nurl = "{hostile.url}"\ntimeout = "2s"\nusername = "u"\n'
        f'password = {{env = "CONNECT_PASSWORD"}}\n[clusters.fine]\nurl = "{fine.url}"\n'
    )
    for cluster in ("hostile", "fine"):
        place.write(f"clusters/{cluster}/a.yaml", document(spec="secrets: {pin: {env: DB_PIN}}"))
    hostile.cluster.create("orders", {"connector.class": SOURCE, "topic": "lines", "file": "/tmp/in.txt"}, None)
    return place


@pytest.mark.parametrize("row", graded(ANSWERS))
def test_an_answer(row: Row, tmp_path: Path) -> None:
    with StandIn() as hostile, StandIn() as fine:
        place = place_of(tmp_path, hostile, fine)
        next(row.parts())  # the first bomb takes a second to make, and the client waits for two
        hostile.stream("GET", row.path, row.parts, times=ALWAYS, pause=row.pause)
        ran = place.run(*row.command, bounds=BOUNDS)
    assert row.says in ran.err
    assert ran.code == 1
    if row.command == PLAN:
        assert "+ orders" in ran.out, "the other cluster is planned"
