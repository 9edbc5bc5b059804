"""*Waiting*: what stops sessions, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from hookrouter.storage.interface import StoreError
from hookrouter_page.reading.waiting import waiting
from hookrouter_page.state import state_of
from hookrouter_page.views.access import acting, root_of, seeing
from hookrouter_page.views.answering import ended, find, review, send, show, unreachable

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]

MOST = 50
"""So many dialogs are shown at once; the rest is counted."""


@seeing
async def _all(request: Request) -> Response:
    state = state_of(request)
    found = await run_in_threadpool(waiting, state.services, state.machines)
    template = "waiting_list.html" if request.url.path.endswith("/list") else "waiting.html"
    return state.draw(
        request,
        template,
        waiting=found[:MOST],
        more=max(len(found) - MOST, 0),
        base=f"{root_of(request)}/waiting",
        alone=state.machines.problem,
    )


@seeing
async def _one(request: Request) -> Response:
    state, key = state_of(request), request.path_params["key"]
    try:
        found = await find(request, key)
        if found is None:
            return await ended(request, key)
    except ValueError:
        return state.draw(request, "problem.html", 404, what="There is no such question.", why="")
    except StoreError as error:
        return unreachable(request, error)
    return show(request, found, f"{root_of(request)}/waiting")


@acting
async def _review(request: Request) -> Response:
    return await _with_key(request, is_last=False)


@acting
async def _send(request: Request) -> Response:
    return await _with_key(request, is_last=True)


async def _with_key(request: Request, *, is_last: bool) -> Response:
    key = request.path_params["key"]
    try:
        return await (send if is_last else review)(request, key, f"{root_of(request)}/waiting")
    except ValueError:
        return state_of(request).draw(request, "problem.html", 404, what="There is no such question.", why="")
    except StoreError as error:
        return unreachable(request, error)


ROUTES = [
    Route("/", _all),
    Route("/waiting/list", _all),
    Route("/waiting/{key}", _one),
    Route("/waiting/{key}/review", _review, methods=["POST"]),
    Route("/waiting/{key}/send", _send, methods=["POST"]),
]
