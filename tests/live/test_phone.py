"""Told on a phone, on the real client: a notification's link answers the question, and the notification says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.waiting import wait_until
from support.managed_client import ManagedClient
from support.page import PHONE, Served, chromium
from support.ports import free_port
from support.push_services import RECIPES, SECRETS, PushServices

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live


def test_a_notifications_link_answers_and_the_notification_tells_it(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    with PushServices() as services, ScriptedModel() as model:
        port = free_port()
        page = f'[page]\naddress = "127.0.0.1:{port}"\nurl = "http://127.0.0.1:{port}"\n'
        one = ManagedClient(str(tmp_path), page + services.in_place_of_the_services(RECIPES["ntfy"]))
        file = Path(one.stage.home.config_file)
        file.write_text(file.read_text().replace('gateway = "none"', 'gateway = "phone"\nkind = "person"', 1))
        one.stage.variables.update(SECRETS)
        one.stage.install()
        with Served(one.stage.environ), chromium() as browser:
            program = find_client()
            assert program is not None
            environ = {**one.stage.environ, **one.stage.client_home.environ(model)}
            one.bring_up(tmux_server, model, program, environ)
            one.start()
            one.ask("Which way now?")
            wait_until(lambda: services.shown, 30, "a notification", one.told)
            [shown] = services.shown.values()
            phone = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
            phone.goto(shown.url)
            phone.get_by_text("Right", exact=True).tap()
            phone.get_by_role("button", name="Review").tap()
            phone.get_by_role("button", name="Send").tap()
            phone.get_by_role("heading", name="Recorded exactly").wait_for()
            one.wait_stop()
            assert "Right" in list(one.model.tool_results().values())[-1]
            wait_until(lambda: "Answered by" in next(iter(services.shown.values())).title, 30, "its end", one.told)
            [over] = services.shown.values()
            assert "> Right" in over.text
            assert "recorded exactly" in over.text
            assert not over.rings
