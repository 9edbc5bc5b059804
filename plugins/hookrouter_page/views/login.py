"""Logging in with the link of ``hookrouter open``, and out; and the logins that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.routing import Route

from hookrouter.storage.interface import StoreError
from hookrouter_page.security.logins import COOKIE, LoginError
from hookrouter_page.state import state_of
from hookrouter_page.views.access import acting, field_of, redirect, root_of, seeing

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]


async def _ask(request: Request) -> Response:
    # A tap more than a login by the link alone: whatever fetches links to show them ahead must not log in.
    return state_of(request).draw(request, "login.html", token=request.path_params["token"], problem="")


async def _enter(request: Request) -> Response:
    state = state_of(request)
    token = await field_of(request, "token")
    try:
        await run_in_threadpool(state.look_for_logins)
        _, cookie = state.logins.enter(token, state.user(request), request.headers.get("user-agent", ""))
        root = state.logins.root
    except LoginError as error:
        return state.draw(request, "login.html", 403, token="", problem=f"{error}")
    except StoreError as error:
        return state.draw(request, "problem.html", 503, what="The state folder cannot be used.", why=str(error))
    response = RedirectResponse(f"{root}/", 303)
    is_secure = state.page.base_url.startswith("https:")
    # Lax: a link to the page in a chat finds its reader logged in. It can do no more than show the page, as whatever
    # writes must come from the page itself.
    response.set_cookie(
        COOKIE, cookie, max_age=state.logins.seconds, path=root, httponly=True, samesite="lax", secure=is_secure
    )
    return response


async def _leave(request: Request) -> Response:
    state = state_of(request)
    try:
        login = state.login(request)
        if login is not None:
            state.logins.records.end(login.id)
    except StoreError as error:
        return state.draw(request, "problem.html", 503, what="You are not logged out.", why=str(error))
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, path=root_of(request))
    return response


@seeing
async def _list(request: Request) -> Response:
    state = state_of(request)
    return state.draw(request, "logins.html", logins=state.logins.holding())


@acting
async def _end(request: Request) -> Response:
    state_of(request).logins.records.end(await field_of(request, "id"))
    return redirect(request, "/logins")


ROUTES = [
    Route("/login/{token}", _ask),
    Route("/login", _enter, methods=["POST"]),
    Route("/logout", _leave, methods=["POST"]),
    Route("/logins", _list),
    Route("/logins", _end, methods=["POST"]),
]
