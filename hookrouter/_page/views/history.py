"""*History*: what became of every question, found by words and filters; and one question's story step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from hookrouter._page.reading.waiting import key_of, read_key
from hookrouter._page.state import state_of
from hookrouter._page.views.access import seeing
from hookrouter.config import DIALOG_KINDS
from hookrouter.dialogs.stories.story import OPEN, OUTCOMES, UNKNOWN
from hookrouter.storage.history import StoryQuery
from hookrouter.util.clock import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from hookrouter._page.reading.stories import Step, StoryIndex
    from hookrouter.dialogs.stories.story import Story

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
    await run_in_threadpool(state.stories.refresh)
    found = await run_in_threadpool(state.stories.find, query, page)
    return state.draw(
        request,
        "history.html",
        found=found,
        asked=asked,
        kinds=DIALOG_KINDS,
        outcomes=(*OUTCOMES, OPEN, UNKNOWN),
        deciders=_BY,
        address_of=lambda number: "/history?" + urlencode({**asked, "page": number}),
        key=lambda story: key_of(story["session"], story["session_id"], story["tool_use_id"]),
    )


@seeing
async def _one(request: Request) -> Response:
    state = state_of(request)
    try:
        _, session_id, tool_use_id = read_key(request.path_params["key"])
    except ValueError:
        session_id = tool_use_id = ""
    found = await run_in_threadpool(_told, state.stories, session_id, tool_use_id)
    if found is None:
        return state.draw(request, "problem.html", 404, what="There is no such question.", why="")
    story, steps = found
    return state.draw(request, "story.html", story=story, steps=steps)


def _told(stories: StoryIndex, session_id: str, tool_use_id: str) -> tuple[Story, list[Step]] | None:
    """Return one question's story and its steps. May take as long as whoever reads the journal at this moment."""
    stories.refresh()
    story = stories.story(session_id, tool_use_id)
    return None if story is None else (story, stories.steps(story))


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
