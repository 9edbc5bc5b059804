"""The page of a signed link: one question, without a login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from hookrouter.storage.interface import StoreError
from hookrouter_page.reading.waiting import key_of
from hookrouter_page.security.answer_link import LinkError, read_link
from hookrouter_page.security.guard import is_own_form
from hookrouter_page.state import state_of
from hookrouter_page.views.access import field_of, remember
from hookrouter_page.views.answering import ended, find, review, send, show, unreachable

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]


async def _show(request: Request) -> Response:
    key = _key(request)
    if not isinstance(key, str):
        return key
    try:
        found = await find(request, key)
        if found is None:
            return await ended(request, key)
    except StoreError as error:
        return unreachable(request, error)
    return show(request, found, f"/link/{request.path_params['token']}", form_csrf=_csrf(request))


async def _review(request: Request) -> Response:
    return await _step(request, is_last=False)


async def _send(request: Request) -> Response:
    return await _step(request, is_last=True)


async def _step(request: Request, *, is_last: bool) -> Response:
    await remember(request)
    key = _key(request)
    if not isinstance(key, str):
        return key
    if not is_own_form(_csrf(request), await field_of(request, "csrf")):
        return state_of(request).draw(
            request, "problem.html", 403, what="This form is out of date.", why="Reload the page."
        )
    try:
        return await (send if is_last else review)(request, key, f"/link/{request.path_params['token']}")
    except StoreError as error:
        return unreachable(request, error)


def _key(request: Request) -> str | Response:
    """Return the key of the question that the link is for, or the page that says why it shows none."""
    state = state_of(request)
    services = state.services
    try:
        linked = read_link(services.home, state.page, request.path_params["token"])
    except LinkError as error:
        return state.draw(request, "problem.html", 410 if error.expired else 404, what=f"{error}.", why="")
    return key_of(linked.session, linked.session_id, linked.tool_use_id)


def _csrf(request: Request) -> str:
    return state_of(request).logins.csrf_token(f"link {request.path_params['token']}")


ROUTES = [
    Route("/link/{token}", _show),
    Route("/link/{token}/review", _review, methods=["POST"]),
    Route("/link/{token}/send", _send, methods=["POST"]),
]
