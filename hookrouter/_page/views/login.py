"""Logging in with the link of ``hookrouter open``, and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from hookrouter._page.security.logins import COOKIE, LoginError
from hookrouter._page.state import state_of
from hookrouter._page.views.access import field_of, redirect, sender_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]


async def _ask(request: Request) -> Response:
    # A tap more than a login by the link alone: whatever fetches links to show them ahead must not log in.
    return state_of(request).draw(request, "login.html", token=request.path_params["token"], problem="")


async def _enter(request: Request) -> Response:
    state, sender = state_of(request), sender_of(request)
    token = await field_of(request, "token")
    if state.wrong_tokens.is_too_many(sender):
        problem = "Too many wrong links; wait a minute."
        return state.draw(request, "login.html", 429, token="", problem=problem)
    try:
        _, cookie = state.logins.cookie(token)
    except LoginError as error:
        state.wrong_tokens.note(sender)
        return state.draw(request, "login.html", 403, token="", problem=str(error))
    response = redirect("/")
    is_secure = state.page.base_url.startswith("https:")
    response.set_cookie(
        COOKIE, cookie, max_age=state.logins.seconds, httponly=True, samesite="strict", secure=is_secure
    )
    return response


async def _leave(_request: Request) -> Response:
    response = redirect("/")
    response.delete_cookie(COOKIE)
    return response


ROUTES = [
    Route("/login/{token}", _ask),
    Route("/login", _enter, methods=["POST"]),
    Route("/logout", _leave, methods=["POST"]),
]
