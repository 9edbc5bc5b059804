"""The page on the real client: a question in tmux is answered on a phone's screen, and recorded exactly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, bash
from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.program import script_argv
from support.managed_client import ManagedClient
from support.page import PHONE, Served, chromium, page_config, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live


def _manage(one: ManagedClient, kind: str) -> None:
    file = Path(one.stage.home.config_file)
    file.write_text(file.read_text().replace('gateway = "none"', f'gateway = "none"\nkind = "{kind}"', 1))
    # Which events are of use depends on who decides.
    one.stage.install()


@contextmanager
def asking(
    server: PrivateTmux, folder: Path, config: str = "", kind: str = "agent"
) -> Iterator[tuple[ManagedClient, Served]]:
    """A client that a router and its page serve, managed by somebody of this kind."""
    with ScriptedModel() as model:
        one = ManagedClient(str(folder), config + page_config())
        _manage(one, kind)
        with Served(one.stage.environ) as served:
            program = find_client()
            assert program is not None
            environ = {**one.stage.environ, **one.stage.client_home.environ(model)}
            one.bring_up(server, model, program, environ)
            one.start()
            yield one, served


@pytest.mark.long
def test_a_question_is_answered_by_touch_on_a_phone(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    with asking(tmux_server, tmp_path) as (one, served), chromium() as browser:
        page = served.log_in(browser, viewport=PHONE, has_touch=True, is_mobile=True)
        complaints = watched(page)
        page.get_by_text("Nothing waits").wait_for()
        one.ask("Which way now?")
        page.get_by_text("Which way now?").wait_for()
        page.get_by_text("Right", exact=True).tap()
        page.get_by_role("button", name="Review").tap()
        page.get_by_role("heading", name="This will be sent").wait_for()
        page.get_by_role("button", name="Send").tap()
        page.get_by_role("heading", name="Recorded exactly").wait_for()
        page.get_by_text("Nothing waits").wait_for()
        one.wait_stop()
        assert "Right" in list(one.model.tool_results().values())[-1]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert complaints == []


def test_a_question_is_answered_without_scripts(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    with asking(tmux_server, tmp_path) as (one, served), chromium() as browser:
        one.ask("Which way now?")
        page = served.log_in(browser, java_script_enabled=False)
        page.get_by_label("Right").check()
        page.get_by_role("button", name="Review").click()
        page.get_by_role("heading", name="This will be sent").wait_for()
        page.get_by_role("button", name="Send").click()
        page.get_by_role("heading", name="Recorded exactly").wait_for()
        one.wait_stop()
        assert "Right" in list(one.model.tool_results().values())[-1]


@pytest.mark.long
def test_a_question_is_answered_by_the_keyboard_alone(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    with asking(tmux_server, tmp_path) as (one, served), chromium() as browser:
        one.ask("Which way now?")
        page = served.log_in(browser)
        page.get_by_text("Which way now?").wait_for()
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Send")).to_be_focused()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Recorded exactly").wait_for()
        one.wait_stop()
        assert "Right" in list(one.model.tool_results().values())[-1]


def test_of_two_browsers_and_an_agent_one_wins_and_the_others_are_told(
    tmux_server: PrivateTmux, tmp_path: Path
) -> None:
    with asking(tmux_server, tmp_path) as (one, served), chromium() as browser:
        one.ask("Which way now?")
        pages = [served.log_in(browser) for _ in range(2)]
        for page, label in zip(pages, ("Left", "Right"), strict=True):
            page.get_by_label(label).check()
            page.get_by_role("button", name="Review").click()
            page.get_by_role("heading", name="This will be sent").wait_for()
        said = json.dumps([{"action": "type", "text": "neither"}])
        words = [*script_argv(), "answer", "--session", "managed", "--json", "--wait", "40", said]
        with subprocess.Popen(words, env=one.stage.environ, stdout=subprocess.PIPE, text=True) as agent:
            for page in pages:
                # Not waited for: all three are on their way at the same time.
                page.get_by_role("button", name="Send").click(no_wait_after=True)
            told, _ = agent.communicate(timeout=90)
        outcomes = [json.loads(told)["outcome"]]
        for page in pages:
            result = page.locator("#results [data-outcome]")
            result.wait_for()
            outcomes.append(str(result.get_attribute("data-outcome")))
        assert outcomes.count("verified") == 1, outcomes
        one.wait_stop()
        recorded = list(one.model.tool_results().values())[-1]
        winner = ("neither", "Left", "Right")[outcomes.index("verified")]
        assert winner in recorded
        for page in pages:
            page.get_by_text("Nothing waits").wait_for()


def test_an_answer_goes_on_when_page_and_router_are_killed(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    with asking(tmux_server, tmp_path) as (one, served), chromium() as browser:
        one.ask("Which way now?")
        page = served.log_in(browser)
        page.get_by_label("Right").check()
        page.get_by_role("button", name="Review").click()
        page.get_by_role("heading", name="This will be sent").wait_for()
        with page.expect_request("**/send"):
            page.get_by_role("button", name="Send").click(no_wait_after=True)
        wait_until(lambda: one.stage.documents("pending-answer") or one.handled()["Stop"], 30, "an answer", one.told)
        os.kill(served.pid, signal.SIGKILL)
        one.wait_stop()
        assert "Right" in list(one.model.tool_results().values())[-1]
        page.goto(served.base + "/history")
        page.get_by_text("recorded exactly").wait_for()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["person", "agent"])
def test_a_permission_is_given_by_a_person_where_no_agent_may(
    tmux_server: PrivateTmux, tmp_path: Path, kind: str
) -> None:
    rules = '\n[[approvals.rules]]\ntool = "Bash"\ndecide = "person"\n'
    with asking(tmux_server, tmp_path, rules, kind) as (one, served), chromium() as browser:
        one.model.script("t1", bash("touch by-a-person"))
        one.client.submit("please RUN t1")
        page = served.log_in(browser, viewport=PHONE, has_touch=True)
        card = page.locator("article.card", has_text="permission")
        card.wait_for()
        card.locator("input[type=radio]").first.check()
        card.get_by_role("button", name="Review").tap()
        page.get_by_role("button", name="Send").tap()
        page.locator("#results [data-outcome=verified]").wait_for()
        one.client.wait_idle()
        assert os.path.exists(os.path.join(one.stage.client_home.project, "by-a-person"))
