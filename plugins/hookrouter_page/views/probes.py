"""``/healthz`` and ``/readyz``: what load balancers ask, without a login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from hookrouter.serving import readiness
from hookrouter.serving.resident import Place
from hookrouter_page.state import state_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]


async def _live(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _ready(request: Request) -> Response:
    state, is_required = state_of(request), request.url.query == readiness.ENGINE_REQUIRED

    def place() -> Place:
        services = state.services
        return Place(home=services.home, config=services.config)

    status, document = await run_in_threadpool(readiness.probed, place, engine_required=is_required)
    return JSONResponse(document, status)


ROUTES = [Route(readiness.LIVE, _live), Route(readiness.READY, _ready)]
