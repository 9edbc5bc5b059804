"""The stream of events that open pages listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hookrouter_page.state import state_of
from hookrouter_page.views.access import seeing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

__all__ = ["ROUTES"]

MOST_LISTENERS = 200


@seeing
async def _events(request: Request) -> Response:
    state = state_of(request)
    live = state.live
    if live.listeners >= MOST_LISTENERS:
        return Response(status_code=503, headers={"Retry-After": "30"})

    async def stream() -> AsyncIterator[bytes]:
        async for event in live.stream(request.headers.get("last-event-id", "")):
            if state.login(request) is None:
                # It was ended meanwhile.
                return
            yield event

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


ROUTES = [Route("/live", _events)]
