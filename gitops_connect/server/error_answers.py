"""Errors as answers: `application/problem+json` (RFC 9457), or a page for a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from gitops_connect.report.printable import escaped, shortened
from gitops_connect.server.pages import error_page

_LONGEST = 1000
"""Characters of the explanation of an error."""


class JSONAnswer(JSONResponse):
    """JSON in which characters that do not print are escaped."""

    def render(self, content: Any) -> bytes:
        return escaped(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))).encode()


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONAnswer:
    """The answer for a request that is rejected or has failed. `detail` may contain a part of the request."""
    detail = shortened(escaped(detail), _LONGEST)
    content = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONAnswer(content, status, headers, "application/problem+json")


def rejected(request: Request, error: Exception) -> Response:
    """The answer for an HTTPException."""
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    headers = error.headers if isinstance(error, HTTPException) else None
    return _answer(request, status, detail, headers)


def failed(request: Request, error: Exception) -> Response:
    """The answer to a GitopsConnectError: the ledger cannot be read now."""
    return _answer(request, 503, str(error), {"Retry-After": "5"})


def disconnected(_request: Request, _error: Exception) -> Response:
    """The answer, which nobody receives, if the client ended before its request was complete."""
    return Response(status_code=400)


def _answer(request: Request, status: int, detail: str, headers: Mapping[str, str] | None) -> Response:
    is_page = not request.url.path.startswith(("/api/", "/webhooks/"))
    if is_page and "text/html" in request.headers.get("accept", ""):
        shown = shortened(escaped(detail), _LONGEST)
        return HTMLResponse(error_page(HTTPStatus(status).phrase, shown), status, headers)
    return problem(status, detail, headers)
