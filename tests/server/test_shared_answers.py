"""Readers who ask for the same page at the same time share one rendering, and no answer is older than its request."""

from __future__ import annotations

import asyncio
import threading

from starlette.requests import Request
from starlette.responses import Response

from gitops_connect.server.shared_answers import SharedAnswers


def request(query: str, path: str = "/") -> Request:
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    return Request({**scope, "server": ("localhost", 80), "scheme": "http"})


def test_requests_during_a_rendering_share_the_next_one() -> None:
    started, may_end = threading.Semaphore(0), threading.Event()
    rendered: list[str] = []

    def page(one: Request) -> Response:
        rendered.append(one.url.query)
        started.release()
        assert may_end.wait(30)
        return Response(str(len(rendered)))

    async def ask() -> list[bytes]:
        endpoint = SharedAnswers().of(page)
        first = asyncio.create_task(endpoint(request("a")))
        await asyncio.to_thread(started.acquire)
        later = [asyncio.create_task(endpoint(request("a"))) for _ in range(10)]
        other = asyncio.create_task(endpoint(request("b")))
        await asyncio.to_thread(started.acquire)
        later[0].cancel()
        may_end.set()
        answers = await asyncio.gather(first, *later[1:], other)
        assert len({id(one.raw_headers) for one in answers}) == len(answers), "the middleware changes the headers"
        return [bytes(one.body) for one in answers]

    answers = asyncio.run(ask())
    assert rendered == ["a", "b", "a"]
    assert answers[1:10] == [b"3"] * 9, "none is older than its request, and one that is cancelled ends no other"


def test_an_error_is_the_answer_to_all_and_not_to_later_ones() -> None:
    fails = iter([True, False])

    def page(_: Request) -> Response:
        if next(fails):
            raise ValueError("no such page")
        return Response("later")

    async def ask() -> bytes:
        endpoint = SharedAnswers().of(page)
        answers = await asyncio.gather(*(endpoint(request("")) for _ in range(3)), return_exceptions=True)
        assert [str(one) for one in answers] == ["no such page"] * 3
        return bytes((await endpoint(request(""))).body)

    assert asyncio.run(ask()) == b"later"


def test_a_name_with_a_question_mark_or_a_percent_sign_has_its_own_page() -> None:
    async def ask() -> list[bytes]:
        endpoint = SharedAnswers().of(lambda one: Response(one.scope["path"]))
        asked = [request("b", "/a"), request("", "/a?b"), request("", "/a%3Fb")]
        answers = await asyncio.gather(*(endpoint(one) for one in asked))
        return [bytes(one.body) for one in answers]

    assert asyncio.run(ask()) == [b"/a", b"/a?b", b"/a%3Fb"]
