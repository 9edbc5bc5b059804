"""The two steps of an answer, wherever the question is shown: what will be sent, and what came of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from hookrouter.dialogs.answers.ended import already_ended
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.dialogs.decisions import DecisionError, check_decisions, load_json
from hookrouter.dialogs.kinds import find_kind
from hookrouter.storage.interface import StoreError
from hookrouter_page.reading.entered import EntryError, decisions_of, entries_of
from hookrouter_page.reading.waiting import Key, find_waiting, read_key
from hookrouter_page.state import state_of
from hookrouter_page.views.access import field_of, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from hookrouter.context import Services
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.machines import Machines
    from hookrouter_page.reading.waiting import Waiting
    from hookrouter_page.state import PageState

__all__ = ["ended", "find", "review", "send", "show", "unreachable"]

WAIT_SECONDS = 20.0
"""For how long the page waits until an answer is recorded."""


async def find(request: Request, key: str) -> Waiting | None:
    """Return the open dialog of a key; None if it is not open any more. Raises ValueError for what is no key.

    Raises StoreError if it is on another machine, and that cannot be looked at now, and SeveralMachinesError.
    """
    state = state_of(request)
    services = state.services
    found = await run_in_threadpool(find_waiting, services, state.machines, key)
    if found is None and state.machines.problem and read_key(key).machine not in ("", state.machines.here(services)):
        raise StoreError(state.machines.problem)
    return found


def unreachable(request: Request, error: StoreError) -> Response:
    """Say that another machine's question cannot be looked at."""
    what = "The other machines cannot be reached."
    return state_of(request).draw(request, "problem.html", 503, what=what, why=str(error))


def show(
    request: Request, found: Waiting, base: str, *, status: int = 200, problem: str = "", **values: Any
) -> Response:
    """Show a question alone, with its form. ``base`` is the address under which the next step is.

    A ``problem`` is told, and ``entered`` filled in, which is what a person has entered before, by the fields' names.
    ``form_csrf`` is the token of the form, by default the login's.
    """
    values.setdefault("entered", {})
    # The page of a link has no login, and so no stream of changes.
    is_polled = base.startswith("/link/")
    return state_of(request).draw(
        request, "one.html", status, one=found, base=base, problem=problem, is_polled=is_polled, **values
    )


async def review(request: Request, key: str, base: str) -> Response:
    """Show what would be sent of what a form holds, or the form again if it is refused or wanted back."""
    state = state_of(request)
    fields = await fields_of(request)
    services = state.services
    found = await find(request, key)
    if found is None:
        return await ended(request, key)
    if found.form is None:
        raise ValueError("a question without a form has no form to send")
    if "back" in fields:
        return await _again(request, found, base)
    try:
        decisions = decisions_of(fields, found.form)
        meant = await run_in_threadpool(_in_words, services, found, decisions)
    except (EntryError, DecisionError) as error:
        return await _again(request, found, base, str(error))
    entered = entries_of(fields, found.form)
    return await _drawn(
        request, "review.html", found, base, decisions=json.dumps(decisions), meant=meant, entered=entered
    )


async def send(request: Request, key: str, base: str) -> Response:
    """Send what was reviewed, wait until it is recorded, and show what came of it."""
    state = state_of(request)
    services = state.services
    found = await find(request, key)
    if found is None:
        return await ended(request, key)
    try:
        chosen = load_json(await field_of(request, "decisions"))
        decisions = await run_in_threadpool(_meant, services, found, chosen)
    except DecisionError as error:
        return await _again(request, found, base, str(error))
    done = await state.tasks.answer(
        {
            "session": found.question.session,
            "tool_use_id": found.question.tool_use_id,
            "decisions": decisions,
            "who": state.user(request),
            "wait": WAIT_SECONDS,
            "machine": "" if found.is_here else found.machine,
        }
    )
    return await _drawn(request, "result.html", found, base, result=done.document, problem=done.problem)


async def ended(request: Request, key: str) -> Response:
    """Say how a question has ended that is not open any more.

    Raises StoreError if it may be open on a machine that cannot be looked at now.
    """
    state = state_of(request)
    wanted = read_key(key)
    reason = await run_in_threadpool(_ending, state, wanted)
    return state.draw(request, "ended.html", 409, session=wanted.session, machine=wanted.machine, reason=reason)


def _ending(state: PageState, wanted: Key) -> str:
    services = state.services
    is_here = wanted.machine == state.machines.here(services)
    unknown = "this question is not open any more"
    result = AnswerResult("not_delivered", ExitCode.NOT_DELIVERED, wanted.session, reason=unknown, by="person")

    def elsewhere(others: Machines) -> AnswerResult:
        names = [wanted.machine] if wanted.machine else others.names()
        endings = (already_ended(others.store(name), result, wanted.tool_use_id) for name in names)
        return next((ending for ending in endings if ending != result), result)

    ending = result
    if is_here or not wanted.machine:
        ending = already_ended(services.store, result, wanted.tool_use_id)
    if ending == result and not is_here:
        ending = state.machines.ask(services, elsewhere, result)
        if ending == result and state.machines.problem:
            raise StoreError(state.machines.problem)
    return ending.reason


def _meant(services: Services, found: Waiting, decisions: object) -> list[dict[str, Any]]:
    """Return what decisions on the form mean for the dialog, checked as an answer is. Raises DecisionError."""
    if found.form is None:
        raise _unserved(found)
    return _kind(services, found).chosen(found.question, check_decisions(decisions, found.form))


def _in_words(services: Services, found: Waiting, decisions: object) -> Sequence[Mapping[str, Any]]:
    """Return the same for whoever reviews it. Raises DecisionError."""
    return _kind(services, found).intended(found.question, _meant(services, found, decisions))


def _kind(services: Services, found: Waiting) -> DialogKind:
    kind = find_kind(services.plugins, found.question.kind)
    if kind is None:
        raise _unserved(found)
    return kind


def _unserved(found: Waiting) -> DecisionError:
    return DecisionError([f"no active plugin serves dialogs of the kind {found.question.kind!r}"])


async def _again(request: Request, found: Waiting, base: str, problem: str = "") -> Response:
    """Show the form with what was entered into it; where scripts run it is there still, and the problem is told."""
    if request.headers.get("hx-request") == "true":
        # htmx puts in only what comes with 200: what is wrong has to be seen, too.
        return await _drawn(request, "refused.html", found, base, problem=problem)
    fields = await fields_of(request)
    entered = {} if found.form is None else entries_of(fields, found.form)
    status = 422 if problem else 200
    csrf = await field_of(request, "csrf")
    return show(request, found, base, status=status, problem=problem, entered=entered, form_csrf=csrf)


async def _drawn(request: Request, template: str, found: Waiting, base: str, **values: Any) -> Response:
    values["form_csrf"] = await field_of(request, "csrf")
    return state_of(request).draw(request, template, one=found, base=base, **values)
