"""A long history is read when the page begins, and holds nobody up who looks at something else."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.application import Application
from hookrouter_page.app import make_app
from hookrouter_page.live import Live
from hookrouter_page.reading.stories import StoryIndex
from hookrouter_page.reading.waiting import key_of
from hookrouter_page.security.logins import COOKIE, FULL
from support.resident import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.applications import Starlette

ASKED = {
    "at": "2026-11-25T07:00:00.000Z",
    "event": "PreToolUse",
    "tool": "AskUserQuestion",
    "outcome": "asked",
    "session": "work",
    "session_id": "s1",
    "tool_use_id": "t1",
    "questions": [{"header": "Way", "question": "Which way?"}],
}
ONE = f"/history/{key_of('work', 's1', 't1')}"


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    services = Application.from_environ({**os.environ, "HOOKROUTER_HOME": str(tmp_path)})
    services.journal.write(ASKED, "s1")
    return make_app(lambda: services)


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], threading.Event]:
    """Has a method of the index take until the event is set that is returned."""

    def held(name: str) -> threading.Event:
        event, method = threading.Event(), getattr(StoryIndex, name)

        def waiting(*args: Any, **options: Any) -> Any:
            assert event.wait(PATIENCE), f"{name}: nobody has let it go on"
            return method(*args, **options)

        monkeypatch.setattr(StoryIndex, name, waiting)
        return event

    return held


async def get(app: Starlette, path: str) -> tuple[int, str]:
    """Return status and text of what somebody gets who is logged in."""
    page = app.state.page
    _, cookie = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    headers = [(b"host", page.page.address.encode()), (b"cookie", f"{COOKIE}={cookie}".encode())]
    scope = {
        "type": "http",
        "method": "GET",
        "path": page.logins.root + path,
        "query_string": b"",
        "headers": headers,
        "client": None,
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    await asyncio.wait_for(app(scope, receive, send), PATIENCE)
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:]).decode()


def test_it_is_read_before_anybody_looks(
    app: Starlette, hold: Callable[[str], threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody listens to what changes.
    monkeypatch.setattr(Live, "start", lambda _: None)
    may_read = hold("refresh")

    async def run() -> None:
        async with app.router.lifespan_context(app):
            # It is being read now, however long it takes.
            assert (await get(app, "/"))[0] == 200
            may_read.set()
            while app.state.page.stories.story("s1", "t1") is None:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), PATIENCE))


@pytest.mark.parametrize(
    ("path", "method"),
    [("/history", "refresh"), ("/history", "find"), (ONE, "refresh"), (ONE, "story"), (ONE, "steps")],
)
def test_whoever_waits_for_it_holds_nobody_up(
    app: Starlette, hold: Callable[[str], threading.Event], path: str, method: str
) -> None:
    may_go_on = hold(method)

    async def run() -> None:
        looking = asyncio.create_task(get(app, path))
        for _ in range(3):
            assert (await get(app, "/"))[0] == 200
        may_go_on.set()
        status, text = await looking
        assert (status, "Which way?" in text) == (200, True)

    asyncio.run(run())
