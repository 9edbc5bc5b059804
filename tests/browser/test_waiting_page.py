"""The page *Waiting* in a browser: what is typed stays, what is over goes, keys, a server that dies, hostile texts."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from support.page import PHONE, watched
from support.resident import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from support.page import Home, Served

HOSTILE = [
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    "<svg onload=\"document.title='owned'\"><style>*{display:none}</style></svg>",
    "</textarea></title><base href=//evil.example><a href='javascript:alert(1)'>go</a>",
    "&lt;b&gt;&amp;&#x3c;script&#x3e;",
    "right \u202eto\u202c left \u2066 \u0627\u0644\u0639",
    "bell \x07 escape \x1b[31m nul \x00 back \x08",
    "{{ 7*7 }} {% raw %} ${7*7}",
    "x" * 200_000,
]


def test_a_question_comes_and_goes_by_itself(browser: Browser, home: Home, served: Served) -> None:
    page = served.log_in(browser)
    complaints = watched(page)
    page.get_by_text("Nothing waits").wait_for()
    asked = home.ask("work", "Which way?")
    page.get_by_text("Which way?").wait_for()
    home.end(asked)
    page.get_by_text("Nothing waits").wait_for()
    assert complaints == []


def test_what_is_typed_and_where_the_cursor_is_outlast_an_update(browser: Browser, home: Home, served: Served) -> None:
    home.ask("first", "One?")
    page = served.log_in(browser)
    text = page.get_by_role("textbox", name="Own words")
    text.click()
    page.keyboard.type("half a sent")
    home.ask("second", "Two?")
    page.get_by_text("Two?").wait_for()
    page.keyboard.type("ence")
    assert text.first.input_value() == "half a sentence"
    assert page.get_by_label("In my own words").first.is_checked()


def test_what_was_typed_for_a_question_that_others_answered_is_kept(
    browser: Browser, home: Home, served: Served
) -> None:
    asked = home.ask("work", "Which way?")
    page = served.log_in(browser)
    page.get_by_role("textbox", name="Own words").fill("my long thought")
    home.end(asked, recorded={"Which way?": "Left"})
    page.get_by_text("my long thought").wait_for()
    page.get_by_text("Nothing waits").wait_for()
    page.get_by_role("link", name="What came of it").click()
    page.get_by_text("a person answered first").wait_for()


def test_an_answer_that_comes_too_late_is_told_who_was_first(browser: Browser, home: Home, served: Served) -> None:
    asked = home.ask("work", "Which way?")
    page = served.log_in(browser, java_script_enabled=False)
    page.get_by_label("Left").check()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("heading", name="This will be sent").wait_for()
    home.end(asked, recorded={"Which way?": "Right"})
    page.get_by_role("button", name="Send").click()
    page.get_by_text("a person answered first: Which way? -> Right").wait_for()


def test_an_answer_that_is_not_complete_says_what_is_missing(browser: Browser, home: Home, served: Served) -> None:
    home.ask("work", "One?", "Two?")
    page = served.log_in(browser)
    page.get_by_label("Left").first.check()
    page.get_by_role("button", name="Review").click()
    page.get_by_text("question 2 has no answer yet").wait_for()
    assert page.get_by_label("Left").first.is_checked()


def test_keys_choose_and_go_on(browser: Browser, home: Home, served: Served) -> None:
    home.ask("work", "Which way?")
    page = served.log_in(browser)
    page.get_by_text("Which way?").wait_for()
    page.keyboard.press("2")
    assert page.get_by_label("Right").is_checked()
    page.keyboard.press("0")
    page.keyboard.type("round the corner")
    page.keyboard.press("Enter")
    review = page.locator(".review")
    review.get_by_text("round the corner").wait_for()
    eventually(lambda: page.evaluate("document.activeElement.textContent") == "Send")


@pytest.mark.parametrize("whom", ["page", "router"])
def test_a_server_that_is_killed_is_back_by_itself(browser: Browser, home: Home, served: Served, whom: str) -> None:
    page = served.log_in(browser)
    page.get_by_text("Nothing waits").wait_for()
    served.wait_begun()
    if whom == "page":
        os.kill(served.pid, signal.SIGKILL)
    else:
        served.router.kill()
        page.get_by_text("Not connected").wait_for()
        served.router.start()
    home.ask("work", "Which way?")
    page.get_by_text("Which way?").wait_for()
    page.get_by_text("Not connected").wait_for(state="hidden")


def test_a_login_that_is_revoked_shows_nothing_more(browser: Browser, home: Home, served: Served) -> None:
    page = served.log_in(browser)
    page.get_by_text("Nothing waits").wait_for()
    served.run("serve", "--revoke")
    home.ask("work", "Which way?")
    page.get_by_role("heading", name="Log in").wait_for()
    assert "Which way?" not in page.content()


def test_a_login_that_may_look_has_nothing_to_press(browser: Browser, home: Home, served: Served) -> None:
    home.ask("work", "Which way?")
    page = served.log_in(browser, "--role", "view")
    page.get_by_text("Which way?").wait_for()
    assert page.get_by_role("button", name="Review").count() == 0


def test_hostile_texts_are_texts(browser: Browser, home: Home, served: Served) -> None:
    for number, text in enumerate(HOSTILE):
        options = [{"label": text[:3000], "description": text[:3000], "preview": text[:3000]}, {"label": "B"}]
        home.ask(f"w {number} {text[:20]}".replace("/", ""), text, header=text[:200], options=options)
    page = served.log_in(browser, viewport=PHONE)
    complaints = watched(page)
    page.reload()
    page.locator("article.card").first.wait_for()
    assert page.locator("article.card").count() == len(HOSTILE)
    assert "owned" not in page.title()
    assert page.locator("main script, main style, main img, main base").count() == 0
    assert not any(bad in page.inner_text("main") for bad in ("\u202e", "\x1b", "\x07", "\x08"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    own_words = page.get_by_label("In my own words").or_(page.get_by_label("A note to the choice"))
    own_words.nth(len(HOSTILE) - 1).wait_for()
    assert complaints == []


def test_a_page_at_360_pixels_is_not_wider_than_the_screen(browser: Browser, home: Home, served: Served) -> None:
    home.ask("a-session-with-a-name-that-goes-on-and-on-without-any-blank-in-it-at-all", "W" * 300)
    page = served.log_in(browser, viewport=PHONE)
    for address in ("/", "/sessions", "/history", "/statistics", "/health"):
        page.goto(served.base + address)
        eventually(lambda: bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth")))
