"""Who may see a view: a login is looked for, and whoever writes must bring the form's token and may act."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from hookrouter.storage.interface import StoreError
from hookrouter_page.security.guard import is_own_form
from hookrouter_page.state import state_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    View = Callable[[Request], Awaitable[Response]]

__all__ = ["acting", "field_of", "fields_of", "redirect", "remember", "root_of", "seeing"]

MOST_FIELDS = 1000

TYPED = {"text", "own", "note", "chat"}
"""The fields of the page's forms in which people write, without the number of a question."""


def seeing(view: View) -> View:
    """Let a view be seen by whoever is logged in; others are told how to log in."""

    @functools.wraps(view)
    async def checked(request: Request) -> Response:
        state = state_of(request)
        await remember(request)
        try:
            await run_in_threadpool(state.look_for_logins)
            if state.login(request) is None:
                return state.draw(request, "no_login.html", 401)
            await state.plugin_pages.refresh(state.services)
            return await view(request)
        except StoreError as error:
            return state.draw(request, "problem.html", 503, what="The state folder cannot be read.", why=str(error))

    return checked


def acting(view: View) -> View:
    """Let a view be used by whoever is logged in and may act, by a form of the page itself."""

    @seeing
    @functools.wraps(view)
    async def checked(request: Request) -> Response:
        state = state_of(request)
        login = state.login(request)
        if login is None or not login.may_act:
            return state.draw(request, "problem.html", 403, what="This login may look, and change nothing.", why="")
        if not is_own_form(state.logins.csrf_token(login.id), await field_of(request, "csrf")):
            return state.draw(request, "problem.html", 403, what="This form is out of date.", why="Reload the page.")
        return await view(request)

    return checked


async def remember(request: Request) -> None:
    """Keep what a person has typed into the form that is sent: a page that has no form for it shows it again."""
    if request.method == "POST":
        fields = await fields_of(request)
        typed = [values for name, values in fields.items() if name.rstrip("0123456789") in TYPED]
        request.state.typed = [text for values in typed for text in values if text.strip()]


def redirect(request: Request, where: str) -> Response:
    """Return the answer that sends a browser to another of the page's addresses."""
    return RedirectResponse(root_of(request) + where, 303)


def root_of(request: Request) -> str:
    """Return what stands before the page's addresses: of what needs a login its own path."""
    return str(request.scope.get("root_path", ""))


async def fields_of(request: Request) -> dict[str, list[str]]:
    """Return what a form holds that was sent, by name; nothing if it is no form of the page's kind."""
    data = await request.body()
    try:
        text = data.decode("utf-8")
        return parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}


async def field_of(request: Request, name: str) -> str:
    """Return one field of a form; empty if it is not there."""
    return (await fields_of(request)).get(name, [""])[0]
