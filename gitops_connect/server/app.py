"""The application: every path with its endpoint, and what happens to every request before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Mount, Route

from gitops_connect.errors import GitopsConnectError
from gitops_connect.server import api, page_routes, probes
from gitops_connect.server.access import Access, Gate
from gitops_connect.server.problems import disconnected, failed, rejected
from gitops_connect.server.served import Served
from gitops_connect.server.webhooks import webhook

API = (
    Route("/status", api.status),
    Route("/clusters", api.clusters),
    Route("/clusters/{cluster}", api.cluster),
    Route("/clusters/{cluster}/plan", api.plan),
    Route("/clusters/{cluster}/connectors/{connector:path}", api.connector),
    Route("/clusters/{cluster}/operations/{operation:path}", api.operation),
    Route("/connectors", api.connectors),
    Route("/operations", api.operations),
    Route("/journal", api.journal),
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
    Route("/healthz", probes.healthz),
    Route("/readyz", probes.readyz),
    Route("/metrics", probes.metrics),
    Route("/events", probes.events),
    Route("/webhooks/{provider}", webhook, methods=["POST"]),
    Mount("/api/v1", routes=API),
    Route("/", page_routes.front),
    Route("/clusters/{cluster}", page_routes.cluster),
    Route("/clusters/{cluster}/plan.txt", page_routes.plan),
    Route("/clusters/{cluster}/connectors/{connector:path}", page_routes.connector),
    Route("/clusters/{cluster}/operations/{operation:path}", page_routes.offset_change),
    Route("/offset-changes", page_routes.offset_changes),
    Route("/pull-requests", page_routes.pull_requests),
    Route("/pull-requests/{number:int}", page_routes.pull_request),
    Route("/pull-requests/{number:int}/plan.txt", page_routes.pull_request_plan),
    Route("/journal", page_routes.journal),
    Route("/problems", page_routes.problems),
    Route("/static/{name}", page_routes.static),
)


def application(one: Served) -> Starlette:
    """The application over these objects."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(one.changes.watch())
        try:
            yield
        finally:
            watching.cancel()

    app = Starlette(
        routes=_ROUTES,
        middleware=[
            Middleware(Gate, access=Access(one.settings.server)),
            Middleware(GZipMiddleware, minimum_size=1024, compresslevel=5),
        ],
        exception_handlers={HTTPException: rejected, GitopsConnectError: failed, ClientDisconnect: disconnected},
        lifespan=lifespan,
    )
    app.state.served = one
    return app
