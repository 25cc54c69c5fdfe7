"""The endpoints for machines that watch the daemon: probes, metrics, and the stream of changes."""

from __future__ import annotations

from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gitops_connect.server.problems import JSONAnswer, problem
from gitops_connect.server.served import served


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
    changes = served(request).changes
    if changes.has_most_streams:
        return problem(503, "too many pages are open", {"Retry-After": "60"})
    return StreamingResponse(changes.stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
