"""The page on the real client: a question in tmux is answered on a phone's screen, and recorded exactly."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from support.managed_client import ManagedClient
from support.page import PHONE, Served, chromium, page_config, watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live


@contextmanager
def asking(server: PrivateTmux, folder: Path) -> Iterator[tuple[ManagedClient, Served]]:
    """A client that a router and its page serve."""
    with ScriptedModel() as model:
        one = ManagedClient(str(folder), page_config())
        with Served(one.stage.environ) as served:
            program = find_client()
            assert program is not None
            environ = {**one.stage.environ, **one.stage.client_home.environ(model)}
            one.bring_up(server, model, program, environ)
            one.start()
            yield one, served


def test_a_question_is_answered_by_touch_on_a_phone(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    with asking(tmux_server, tmp_path) as (one, served), chromium() as browser:
        page = served.log_in(browser, viewport=PHONE, has_touch=True, is_mobile=True)
        complaints = watched(page)
        page.get_by_text("Nothing waits").wait_for()
        one.ask("Which way now?")
        page.get_by_text("Which way now?").wait_for()
        page.get_by_text("Right", exact=True).tap()
        page.get_by_role("button", name="Go on").tap()
        page.get_by_role("heading", name="This will be sent").wait_for()
        page.get_by_role("button", name="Send").tap()
        page.get_by_role("heading", name="Recorded exactly").wait_for()
        page.get_by_text("Nothing waits").wait_for()
        one.wait_stop()
        assert "Right" in list(one.model.tool_results().values())[-1]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert complaints == []
