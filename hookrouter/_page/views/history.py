"""*History*: what became of every question, found by words and filters; and one question's story step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from hookrouter._page.reading.stories import StoryQuery
from hookrouter._page.reading.waiting import key_of, read_key
from hookrouter._page.state import state_of
from hookrouter._page.views.access import seeing
from hookrouter.config import DIALOG_KINDS
from hookrouter.dialogs.stories.story import OPEN, OUTCOMES, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from hookrouter.dialogs.stories.story import Story

__all__ = ["ROUTES"]

_LONGEST = 200
_BY = ("agent", "person", "nobody")


@seeing
async def _all(request: Request) -> Response:
    state, given = state_of(request), request.query_params
    query = StoryQuery(**{name: given.get(name, "")[:_LONGEST].strip() for name in StoryQuery._fields})
    number = given.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    await run_in_threadpool(state.stories.refresh)
    found = await run_in_threadpool(state.stories.find, query, page)
    asked = {name: value for name, value in query._asdict().items() if value}
    return state.draw(
        request,
        "history.html",
        found=found,
        query=query,
        kinds=DIALOG_KINDS,
        outcomes=(*OUTCOMES, OPEN, UNKNOWN),
        deciders=_BY,
        address_of=lambda number: "/history?" + urlencode({**asked, "page": number}),
        key=lambda story: key_of(story["session"], story["session_id"], story["tool_use_id"]),
    )


@seeing
async def _one(request: Request) -> Response:
    state = state_of(request)
    await run_in_threadpool(state.stories.refresh)
    try:
        _, session_id, tool_use_id = read_key(request.path_params["key"])
    except ValueError:
        session_id = tool_use_id = ""
    story = state.stories.story(session_id, tool_use_id)
    if story is None:
        return state.draw(request, "problem.html", 404, what="There is no such question.", why="")
    return state.draw(request, "story.html", story=story, steps=list(steps(story)))


def steps(story: Story) -> Iterator[tuple[str, str, list[str]]]:
    """Yield what happened: when, what, and what belongs to it, such as the keys that were pressed."""
    if story["asked_at"]:
        whom = f"; the agent {story['agent']} was told" if story["agent"] else ""
        paused = ", while the session was paused" if story["missed"] else ""
        yield story["asked_at"], f"Claude asked{paused}{whom}", []
    if story["reminders"]:
        yield "", f"The agent was reminded, times: {story['reminders']}", []
    if story["escalated"]:
        yield "", "Somebody else was asked", []
    for attempt in story["attempts"]:
        by = f" by {attempt['channel']}" if attempt["channel"] else ""
        why = f": {attempt['reason']}" if attempt["reason"] else ""
        yield attempt["at"], f"An answer{by}: {attempt['outcome'].replace('_', ' ')}{why}", attempt["steps"]
    if story["ended_at"]:
        names = {"person": f", by a person {story['who']}".rstrip(), "agent": f", by the agent {story['agent']}"}
        by = names.get(story["by"], "")
        why = f": {story['reason']}" if story["reason"] else ""
        yield story["ended_at"], f"{story['outcome'].replace('_', ' ')}{by}{why}", []


ROUTES = [Route("/history", _all), Route("/history/{key}", _one)]
