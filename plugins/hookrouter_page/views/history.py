"""*History*: what became of every question, found by words and filters; and one question's story step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from hookrouter.dialogs.kinds import dialog_kinds
from hookrouter.dialogs.stories.story import OPEN, OUTCOMES, UNKNOWN, shown_id
from hookrouter.storage.history import StoryQuery
from hookrouter.storage.journal import parsed
from hookrouter.util.clock import local, moment
from hookrouter_page.reading.kept import KeptHistoryError
from hookrouter_page.reading.stories import PAGE_STORIES, steps_of
from hookrouter_page.reading.waiting import key_of, read_key
from hookrouter_page.state import state_of
from hookrouter_page.views.access import seeing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from hookrouter.storage.history import HistoryStore
    from hookrouter_page.reading.stories import Step
    from hookrouter_page.state import PageState

__all__ = ["ROUTES"]

_LONGEST = 200
_BY = ("agent", "person", "nobody")


@seeing
async def _all(request: Request) -> Response:
    state, given = state_of(request), request.query_params
    asked = {name: value for name in StoryQuery._fields if (value := given.get(name, "")[:_LONGEST].strip())}
    query = _query(asked)
    number = given.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    found = await run_in_threadpool(_found, state, query, page, given.get("after", "")[:_LONGEST])
    return state.draw(
        request,
        "history.html",
        found=found,
        here="/history?" + urlencode(given.multi_items()),
        asked=asked,
        kinds=list(dialog_kinds(state.services.plugins)),
        outcomes=(*OUTCOMES, OPEN, UNKNOWN),
        deciders=_BY,
        address_of=lambda **place: "/history?" + urlencode({**asked, **place}),
        one_address=_one_address,
    )


class _Shown(NamedTuple):
    """What the page shows of the history."""

    stories: list[tuple[str, Mapping[str, Any]]]
    """Machine and story; the machine is empty if none share an engine."""
    facts: str
    newer: dict[str, str | int] | None
    """What the address of newer ones has; None if there are none."""
    older: dict[str, str | int] | None
    problem: str = ""
    """Why only this machine is shown."""
    machines: Sequence[str] = ()
    """All whose history is shown; none if it is this one's alone."""


def _found(state: PageState, query: StoryQuery, page: int, after: str) -> _Shown:
    """Return a page of all machines' history if the engine keeps it, else of this one's. Raises StoreError."""
    problem = ""
    try:
        if (history := state.kept.of(state.services)) is not None:
            return _kept(history, query, after)
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        problem = str(state.kept.failed(error))
    state.stories.refresh()
    found = state.stories.find(query, page)
    facts = f"{found.total} found" + (f", page {found.page} of {found.pages}" if found.pages > 1 else "")
    return _Shown(
        [(state.machines.here(state.services), story) for story in found.stories],
        facts,
        {"page": found.page - 1} if found.page > 1 else None,
        {"page": found.page + 1} if found.page < found.pages else None,
        problem,
    )


def _kept(history: HistoryStore, query: StoryQuery, after: str) -> _Shown:
    try:
        found = history.stories(query, PAGE_STORIES, after)
    except ValueError:
        # An address that somebody has made up, or that a former engine gave.
        after = ""
        found = history.stories(query, PAGE_STORIES)
    facts = f"{len(found.stories)} found on all machines"
    if found.looked_until is not None and len(found.stories) < PAGE_STORIES:
        facts += f" since {local(found.looked_until, to='minutes')}; there may be older ones"
    return _Shown(
        [(kept.machine, kept.story) for kept in found.stories],
        facts,
        {} if after else None,
        {"after": found.after} if found.after else None,
        machines=history.machines(),
    )


def _one_address(machine: str, story: Mapping[str, Any]) -> str:
    key = key_of(story["session"], story["session_id"], story["tool_use_id"])
    return f"/history/{key}" + (f"?{urlencode({'machine': machine})}" if machine else "")


@seeing
async def _one(request: Request) -> Response:
    state = state_of(request)
    try:
        session_id, tool_use_id = read_key(request.path_params["key"])[1:3]
    except ValueError:
        session_id = tool_use_id = ""
    machine = request.query_params.get("machine", "")[:_LONGEST]
    try:
        found = await run_in_threadpool(_told, state, machine, session_id, tool_use_id)
    except KeptHistoryError as error:
        return state.draw(
            request, "problem.html", 503, what="The history of that machine cannot be read now.", why=str(error)
        )
    if found is None:
        return state.draw(request, "problem.html", 404, what="There is no such question.", why="")
    story, steps = found
    of_session = {"session": story["session"], **({"machine": machine} if machine else {})}
    return state.draw(request, "story.html", story=story, steps=steps, machine=machine, of_session=of_session)


def _told(
    state: PageState, machine: str, session_id: str, tool_use_id: str
) -> tuple[Mapping[str, Any], list[Step]] | None:
    """Return one question's story and its steps. May take as long as whoever reads the journal at this moment.

    Raises KeptHistoryError if it is another machine's, and the engine cannot be asked.
    """
    here = state.machines.here(state.services)
    # What shares nothing is asked of itself alone, whatever an address of before says.
    if here and machine not in ("", here):
        history = state.kept.of(state.services)
        try:
            kept = history.story(machine, (session_id, shown_id(tool_use_id))) if history is not None else None
        except Exception as error:
            raise state.kept.failed(error) from error
        if kept is None:
            return None
        records = [parsed(str(line).encode("utf-8", "replace")) for line in kept.sources.get("records", ())]
        return kept.story, steps_of(kept.story, [record for record in records if record is not None])
    state.stories.refresh()
    story = state.stories.story(session_id, tool_use_id)
    return None if story is None else (story, state.stories.steps(story))


def _query(asked: Mapping[str, str]) -> StoryQuery:
    """Return what an address asks for; a time that is none is no condition."""
    texts: dict[str, Any] = {name: value for name, value in asked.items() if name not in ("since", "until")}
    return StoryQuery(**texts, since=_time(asked.get("since", "")), until=_time(asked.get("until", "")))


def _time(text: str) -> float | None:
    try:
        return moment(text) if text else None
    except ValueError:
        return None


ROUTES = [Route("/history", _all), Route("/history/{key}", _one)]
