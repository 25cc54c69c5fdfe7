"""The application: every path with its endpoint, what happens to every request before, the probes and the events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from gitops_connect.errors import GitopsConnectError
from gitops_connect.server import api, page_routes
from gitops_connect.server.access import Access, Gate
from gitops_connect.server.error_answers import JSONAnswer, disconnected, failed, problem, rejected
from gitops_connect.server.served import Served, served
from gitops_connect.server.shared_answers import SharedAnswers
from gitops_connect.server.webhooks import webhook


# Probes only read memory. They need no thread, and are answered even if slow requests use all threads.
async def healthz(request: Request) -> Response:
    """Whether the daemon starts jobs. It does not depend on Connect, Git or the ledger."""
    is_alive = served(request).daemon.is_alive
    return JSONAnswer({"alive": is_alive}, 200 if is_alive else 503)


async def readyz(request: Request) -> Response:
    """Whether the repository was polled once, so that the server has something to show."""
    is_ready = served(request).snapshot.repository.polled is not None
    return JSONAnswer({"ready": is_ready}, 200 if is_ready else 503)


def metrics(request: Request) -> Response:
    """All metrics, in the format that the client accepts."""
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(served(request).metrics.registry), media_type=media_type)


async def events(request: Request) -> Response:
    """An event for each change of the daemon's state."""
    stream = served(request).events
    if stream.has_most_streams:
        return problem(503, "too many pages are open", {"Retry-After": "60"})
    return StreamingResponse(stream.stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


API = (
    Route("/status", api.status),
    Route("/clusters", api.clusters),
    Route("/clusters/{cluster}", api.cluster),
    Route("/clusters/{cluster}/plan", api.plan),
    Route("/clusters/{cluster}/rollouts", api.rollouts),
    Route("/clusters/{cluster}/connectors/{connector:path}", api.connector),
    Route("/clusters/{cluster}/operations/{operation:path}", api.offset_change),
    Route("/connectors", api.connectors),
    Route("/operations", api.offset_changes),
    Route("/journal", api.journal),
    Route("/history", api.history),
    Route("/history.csv", api.history_csv),
    Route("/history.json", api.history_json),
    Route("/conditions", api.conditions),
    Route("/diagnostics", api.diagnostics),
    Route("/pull-requests", api.pull_requests),
    Route("/pull-requests/review", api.review, methods=["POST"]),
    Route("/pull-requests/{number:int}", api.pull_request),
    Route("/pull-requests/{number:int}/plan", api.pull_request_plan),
    Route("/reconcile", api.reconcile, methods=["POST"]),
    Route("/reconcile/{number:int}", api.reconciliation),
    Route("/openapi.json", api.openapi),
)
_ROUTES: tuple[BaseRoute, ...] = (
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/events", events),
    Route("/webhooks/{provider}", webhook, methods=["POST"]),
    Mount("/api/v1", routes=API),
    Route("/static/{name}", page_routes.static),
)
PAGES = {
    "/": page_routes.front,
    "/connectors": page_routes.connectors,
    "/clusters/{cluster}": page_routes.cluster,
    "/clusters/{cluster}/plan": page_routes.plan_page,
    "/clusters/{cluster}/rollouts/{commit}": page_routes.rollout,
    "/clusters/{cluster}/plan.txt": page_routes.plan,
    "/clusters/{cluster}/connectors/{connector:path}": page_routes.connector,
    "/clusters/{cluster}/operations/{operation:path}": page_routes.offset_change,
    "/offset-changes": page_routes.offset_changes,
    "/pull-requests": page_routes.pull_requests,
    "/pull-requests/{number:int}": page_routes.pull_request,
    "/pull-requests/{number:int}/plan.txt": page_routes.pull_request_plan,
    "/history": page_routes.history,
    "/journal": page_routes.journal,
    "/problems": page_routes.problems,
}


def application(one: Served) -> Starlette:
    """The application over these objects."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(one.events.watch())
        try:
            yield
        finally:
            watching.cancel()

    shared = SharedAnswers()
    app = Starlette(
        routes=[*_ROUTES, *(Route(path, shared.of(endpoint)) for path, endpoint in PAGES.items())],
        middleware=[
            Middleware(Gate, access=Access(one.settings.server)),
            Middleware(GZipMiddleware, minimum_size=1024, compresslevel=5),
        ],
        exception_handlers={HTTPException: rejected, GitopsConnectError: failed, ClientDisconnect: disconnected},
        lifespan=lifespan,
    )
    app.state.served = one
    return app
