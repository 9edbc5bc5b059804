"""Every page: nothing that keeps people out (axe-core), no wider than a phone, whole without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from hookrouter.messaging.gateway import Message
from support.matrix import mostly_long
from support.page import PHONE, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from support.page import Home, Served

PAGES = ("/", "/sessions", "/history", "/statistics", "/health", "/logins")
LONG = "a-name-that-goes-on-and-on-without-any-blank-in-it-at-all-for-eighty-characters-x"


def filled(home: Home) -> dict[str, str]:
    """Put something into every page; return the addresses of those of one thing."""
    options = [{"label": "Left", "description": "one way", "preview": "+ a line\n- another"}, {"label": "Right"}]
    asked = home.ask("work", "Which way?", "And how?")
    home.ask("plan", "With a preview?", options=options)
    home.ask("many", "Which of them?", multiSelect=True)
    home.ask(LONG, "W" * 400)
    over = home.ask("done", "It is over?")
    home.app.journal.write(
        {
            "event": "PreToolUse",
            "tool": "AskUserQuestion",
            "session_id": over.session_id,
            "session": "done",
            "tool_use_id": over.tool_use_id,
            "outcome": "asked",
            "questions": [{"header": "Way", "question": "It is over?"}],
            "ms": 3.0,
        },
        over.session_id,
    )
    home.end(over, outcome="verified", by="agent", agent="ops", at="2026-11-25T08:00:00.000Z")
    home.put("work", "say hello", "/compact")
    message = Message("question", "ops", "nowhere", "work", "id-work", "toolu_work", "Which way?", "text")
    home.app.outbox.put(message)
    from hookrouter_page.reading.waiting import key_of

    names = (asked.session, asked.session_id, asked.tool_use_id)
    ended = (over.session, over.session_id, over.tool_use_id)
    return {
        "one": f"/waiting/{key_of(*names)}",
        "over": f"/waiting/{key_of(*ended)}",
        "story": f"/history/{key_of(*ended)}",
        "session": "/sessions/work",
    }


@pytest.mark.parametrize("scheme", mostly_long(["light", "dark"], "dark"))
def test_nothing_keeps_anybody_out(browser: Browser, home: Home, served: Served, scheme: str) -> None:
    more = filled(home)
    page = served.log_in(browser, viewport=PHONE, color_scheme=scheme)
    complaints = watched(page)
    base = served.base
    for address in (*PAGES, *more.values(), "/login/none", "/no-such-page"):
        page.goto(base + address)
        if address == "/statistics":
            page.reload()
        found = Axe().run(page)
        assert found.violations_count == 0, (address, found.generate_report())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        assert page.locator("h1, h2").count() > 0, address
    assert [one for one in complaints if "status of 404" not in one and "status of 409" not in one] == []


def test_pages_are_whole_without_scripts(browser: Browser, home: Home, served: Served) -> None:
    more = filled(home)
    page = served.log_in(browser, java_script_enabled=False)
    base = served.base
    page.goto(base + "/")
    assert page.locator("article.card").count() == 4
    page.goto(base + more["session"])
    page.get_by_label("A prompt or command").fill("one more thing")
    page.get_by_role("button", name="Send last").click()
    page.locator("ol.queue pre", has_text="one more thing").wait_for()
    page.get_by_role("button", name="Hold the queue").click()
    page.get_by_text("held since").wait_for()
    page.get_by_role("button", name="Drop", exact=True).first.click()
    page.locator("ol.queue pre", has_text="say hello").wait_for(state="detached")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="End the pause").wait_for()
    assert [item.text for item in home.queue("work").items] == ["/compact", "one more thing"]
    page.goto(base + "/health")
    page.get_by_role("button", name="Drop").click()
    # Doctor, whose findings may be there by now, says much the same.
    page.locator("p.empty", has_text="No message waits").wait_for()
    page.goto(base + "/history?words=over")
    page.get_by_role("link", name="It is over?").click()
    page.get_by_text("verified", exact=True).wait_for()
    page.goto(base + "/history?words=nothing-like-it")
    page.get_by_text("0 found").wait_for()
