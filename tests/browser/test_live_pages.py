"""What changes is seen at once: in many tabs, in heads and titles, and on the pages of one thing."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from hookrouter.dialogs import documents
from hookrouter.messaging import pauses
from hookrouter.queue.documents import change_queue
from hookrouter.queue.editing import added, new_items
from hookrouter.sessions.records import IDLE, SessionRecord, change_record
from hookrouter.util.clock import iso
from hookrouter_page.security.answer_link import answer_link
from support.page import PATIENCE_MS, Home, Served, watched

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

TABS = 8
"""More than the connections that a browser opens to one host."""


def test_many_tabs_hear_of_a_change_and_each_can_answer(browser: Browser, home: Home, served: Served) -> None:
    first = served.log_in(browser)
    complaints = watched(first)
    tabs = [first, *(first.context.new_page() for _ in range(TABS - 1))]
    for tab in tabs[1:]:
        tab.goto(served.base + "/")
        tab.get_by_role("heading", name="Waiting").wait_for()
    asked = home.ask("work", "Which way?")
    for tab in tabs:
        tab.get_by_text("Which way?").wait_for()
    last = tabs[-1]
    last.get_by_label("Left").check()
    last.get_by_role("button", name="Review").click()
    last.get_by_role("heading", name="This will be sent").wait_for()
    # The others go, and the last one hears of what comes.
    for tab in tabs[:-1]:
        tab.close()
    home.end(asked)
    last.get_by_text("Nothing waits").wait_for()
    assert complaints == []


def test_a_browser_without_shared_workers_hears_of_changes_too(browser: Browser, home: Home, served: Served) -> None:
    with ExitStack() as stack:
        context = served.context(browser)
        stack.callback(context.close)
        context.add_init_script("delete window.SharedWorker")
        page = context.new_page()
        page.goto(served.link()["url"])
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("Nothing waits").wait_for()
        home.ask("work", "Which way?")
        page.get_by_text("Which way?").wait_for()


def test_heads_and_the_title_are_renewed_beside_what_is_typed(browser: Browser, home: Home, served: Served) -> None:
    asked = home.ask("work", "Which way?")
    page = served.log_in(browser)
    expect(page).to_have_title(re.compile(r"^1 waiting"), timeout=PATIENCE_MS)
    text = page.get_by_role("textbox", name="Own words")
    text.fill("half a sentence")
    page.get_by_text("The agent default was asked").wait_for()
    documents.save_question(home.app.store, asked._replace(cwd="/elsewhere"))
    page.get_by_text("/elsewhere").wait_for()
    home.ask("other", "And now?")
    expect(page).to_have_title(re.compile(r"^2 waiting"), timeout=PATIENCE_MS)
    assert text.first.input_value() == "half a sentence"
    home.end(asked)
    expect(page).to_have_title(re.compile(r"^1 waiting"), timeout=PATIENCE_MS)


def test_the_page_of_a_session_and_the_history_are_renewed(browser: Browser, home: Home, served: Served) -> None:
    store = home.app.store
    record = SessionRecord("work", "id-work", IDLE, iso())
    change_record(store, "work", lambda _: record)
    home.put("work", "the first item")
    page = served.log_in(browser)
    complaints = watched(page)
    history = page.context.new_page()
    history.goto(served.base + "/history")
    page.goto(served.base + "/sessions/work")
    composer = page.get_by_label("A prompt or command")
    composer.fill("half a prompt")
    page.get_by_text("Edit", exact=True).click()
    page.locator("details[open] textarea").fill("half an edit")
    change_queue(store, "work", lambda queue: added(queue, new_items(["the second item"], by="agent")))
    page.locator("pre", has_text="the second item").wait_for()
    pauses.begin(store, "work", "for lunch")
    page.get_by_text("for lunch").wait_for()
    assert composer.input_value() == "half a prompt"
    assert page.locator("details[open] textarea").input_value() == "half an edit"
    history.get_by_text("0 found").wait_for()
    asked = home.ask("work", "Which way?")
    home.app.journal.write(
        {
            "at": iso(),
            "event": "PreToolUse",
            "tool": "AskUserQuestion",
            "outcome": "asked",
            "session": "work",
            "session_id": asked.session_id,
            "tool_use_id": asked.tool_use_id,
            "ms": 1.0,
            "pid": 1,
            "questions": [{"header": "", "question": "Which way?"}],
        },
        asked.session_id,
    )
    home.end(asked)
    history.get_by_role("link", name="Which way?").wait_for()
    assert complaints == []


def test_the_page_of_a_link_says_by_itself_that_its_question_is_over(browser: Browser, tmp_path: Path) -> None:
    home = Home(tmp_path)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text() + f'url = "http://{home.address}"\n')
    with Served(home.environ) as served:
        asked = home.ask("work", "Which way?")
        page = served.context(browser).new_page()
        page.goto(answer_link(home.app.home, home.settings_of(), asked))
        page.get_by_role("textbox", name="Own words").fill("my long thought")
        home.end(asked)
        page.get_by_role("heading", name="Not open any more").first.wait_for()
        page.get_by_text("my long thought").wait_for()
        assert page.get_by_role("button", name="Review").count() == 0
