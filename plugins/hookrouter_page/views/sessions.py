"""*Sessions*: what each does, its queue, and its pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from hookrouter.queue.items import QUEUED
from hookrouter.queue.words import first_line, hold_line, item_line, state_words
from hookrouter.storage.interface import StoreError
from hookrouter_page.machines import SeveralMachinesError
from hookrouter_page.state import state_of
from hookrouter_page.views.access import acting, fields_of, redirect, seeing
from hookrouter_page.views.answering import unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]

PAGE = 100
"""Sessions on one page."""

_WORDS: dict[str, Any] = {
    "first_line": first_line,
    "hold_line": hold_line,
    "item_line": item_line,
    "state_words": state_words,
}


@seeing
async def _all(request: Request) -> Response:
    state = state_of(request)
    found = await run_in_threadpool(state.sessions.all, state.services)
    given = request.query_params.get("page", "1")
    page = max(1, int(given)) if given.isascii() and given.isdigit() and len(given) < 5 else 1
    template = "sessions_list.html" if request.url.path.endswith("/list") else "sessions.html"
    shown = found[(page - 1) * PAGE : page * PAGE]
    pages = max(1, -(-len(found) // PAGE))
    return state.draw(
        request,
        template,
        sessions=shown,
        total=len(found),
        page=page,
        pages=pages,
        address=_address,
        alone=state.machines.problem,
        **_WORDS,
    )


@seeing
async def _one(request: Request) -> Response:
    return await _drawn(request)


@acting
async def _do(request: Request) -> Response:
    """Do what a form asks, by the command that a person would type, on the machine that the form names."""
    state, name = state_of(request), request.path_params["name"]
    fields = {key: values[0] for key, values in (await fields_of(request)).items()}
    words, text = _command(name, fields, f"person:{state.user(request)}")
    if not words:
        return await _drawn(request, "This form cannot be read.", 422, fields)
    try:
        machine = await _machine(request, is_sure=True)
    except StoreError as error:
        return unreachable(request, error)
    is_here = machine == state.machines.here(state.services)
    if not is_here:
        words = [words[0], f"--machine={machine}", *words[1:]]
    done = await state.tasks.command(words, text, is_alone=is_here)
    if done.problem:
        return await _drawn(request, done.problem, 422, fields)
    return redirect(request, _address(name, machine))


async def _machine(request: Request, *, is_sure: bool = False) -> str:
    """Return the machine whose session an address means; empty if none share an engine.

    An address without one means the only machine that knows the session: whatever page the next request comes to has
    other sessions of its own. Raises SeveralMachinesError, and with ``is_sure`` StoreError if not all can be looked at.
    """
    state = state_of(request)
    services = state.services
    here = state.machines.here(services)
    named = request.query_params.get("machine", "")
    if named or not here:
        return named
    known = await run_in_threadpool(state.sessions.machines_with, services, request.path_params["name"])
    if is_sure and state.machines.problem:
        raise StoreError(state.machines.problem)
    if len(known) > 1:
        raise SeveralMachinesError("a session of this name", known)
    return known[0] if known else here


def _address(name: str, machine: str) -> str:
    """Return the address of a session's page."""
    return f"/sessions/{quote(name, safe='')}" + (f"?{urlencode({'machine': machine})}" if machine else "")


def _command(name: str, fields: Mapping[str, str], author: str) -> tuple[list[str], str | None]:
    """Return the words of the command that a form means, and its stdin; no words for a form that means none."""
    what, item = fields.get("do", ""), fields.get("item", "")
    of_session, of_item = [f"--session={name}"], [f"--as={author}", "--", item]
    text = fields.get("text", "").replace("\r\n", "\n")
    commands: dict[str, tuple[list[str], str | None]] = {
        "send": (["send", *of_session, f"--as={author}", "--file=-"], text),
        "send-next": (["send", *of_session, f"--as={author}", "--file=-", "--next"], text),
        "hold": (["queue", "hold", *of_session, f"--as={author}", f"--reason={fields.get('reason', '')}"], None),
        "go-on": (["queue", "resume", *of_session, f"--as={author}"], None),
        "clear": (["queue", "clear", *of_session, f"--as={author}"], None),
        "pause": (["pause", *of_session, f"--reason={fields.get('reason', '')}"], None),
        "resume": (["resume", *of_session], None),
    }
    of_items: dict[str, tuple[list[str], str | None]] = {
        "edit": (["queue", "edit", f"--as={author}", "--file=-", "--", item], text),
        "drop": (["queue", "drop", *of_item], None),
        "first": (["queue", "move", "--first", "--", item], None),
        "last": (["queue", "move", "--last", "--", item], None),
    }
    return commands.get(what) or (of_items.get(what) if item else None) or ([], None)


async def _drawn(
    request: Request, problem: str = "", status: int = 200, typed: Mapping[str, str] | None = None
) -> Response:
    """Draw the page; ``typed`` is what was refused of a form, so that nobody types it again."""
    state, name = state_of(request), request.path_params["name"]
    services = state.services
    here = state.machines.here(services)
    try:
        machine = await _machine(request)
    except SeveralMachinesError as error:
        choices = [(one, _address(name, one)) for one in error.machines]
        return state.draw(
            request, "several.html", 409 if request.method == "POST" else 300, session=name, choices=choices
        )
    view = await run_in_threadpool(state.sessions.one, services, name, machine)
    if view is None:
        if machine != here and state.machines.problem:
            return unreachable(request, StoreError(state.machines.problem))
        return state.draw(request, "problem.html", 404, what="There is no such session.", why="")
    # What plugins show of a session they read on its own machine.
    asked = state.asked(request, services)
    # They are no part of what is renewed with each change, either.
    is_part = request.headers.get("hx-request") == "true"
    panels = await state.plugin_pages.fill_panels(services, view, asked) if machine == here and not is_part else []
    return state.draw(
        request,
        "session.html",
        status,
        view=view,
        problem=problem,
        typed=typed or {},
        panels=panels,
        queued=QUEUED,
        machine=machine,
        is_here=machine == here,
        history="/history?" + urlencode({"session": name, **({"machine": machine} if machine else {})}),
        address=_address(name, machine),
        **_WORDS,
    )


ROUTES = [
    Route("/sessions", _all),
    Route("/sessions/list", _all),
    Route("/sessions/{name:path}", _one),
    Route("/sessions/{name:path}", _do, methods=["POST"]),
]
