"""*Health*: doctor's findings with their fixes, plugins, gateways, and what waits in the outbox: of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from hookrouter_page.state import state_of
from hookrouter_page.views.access import acting, fields_of, redirect, seeing

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]

MOST = 100
"""So many messages of the outbox are shown; the rest is counted."""


@seeing
async def _show(request: Request) -> Response:
    return await _drawn(request)


@acting
async def _do(request: Request) -> Response:
    """Retry or drop a message, by the command that a person would type."""
    fields = {key: values[0] for key, values in (await fields_of(request)).items()}
    what, name = fields.get("do", ""), fields.get("message", "")
    if what not in ("retry", "drop") or not name:
        return await _drawn(request, "This form cannot be read.", 422)
    machine, here = fields.get("machine", ""), _here(request)
    if machine != here:
        # Another machine may have taken the message over, under the same name.
        where = f"on the machine {machine}" if machine else "on the machine that showed it"
        return await _drawn(
            request, f"Nothing was done: this page is that of {here}. Run hookrouter outbox {where}.", 409
        )
    done = await state_of(request).tasks.command(["outbox", what, "--", name])
    return await _drawn(request, done.problem, 422) if done.problem else redirect(request, "/health")


def _here(request: Request) -> str:
    """Return what the page's machine is called; empty if it shares nothing."""
    state = state_of(request)
    return state.machines.here(state.services)


async def _drawn(request: Request, problem: str = "", status: int = 200) -> Response:
    state = state_of(request)
    services = state.services
    state.health.look(services)
    pending = await run_in_threadpool(services.outbox.pending)
    return state.draw(
        request,
        "health.html",
        status,
        problem=problem,
        machine=_here(request),
        health=state.health,
        messages=pending[:MOST],
        more=max(len(pending) - MOST, 0),
        plugins=services.plugins.listing(),
        gateways=services.config.gateways,
        problems=services.config.problems,
        page_problems=state.plugin_pages.problems,
    )


ROUTES = [Route("/health", _show), Route("/health", _do, methods=["POST"])]
