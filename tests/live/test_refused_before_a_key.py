"""What no keys can do on the real client is refused before the first of them, with the true reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import dialog_is_open
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.waiting import wait_until
from support.approval_session import ApprovalSession

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

# The class is in conftest.py, which cannot be imported from here.
Live = Any

OPTIONS = [{"label": label, "description": f"about {label}"} for label in ("SQLite", "Postgres")]
FORM = {"question": "Which database?", "header": "Database", "multiSelect": False, "options": OPTIONS}


def test_a_chat_that_is_no_prompt_for_the_client(calm: Live) -> None:
    asked = calm.ask(FORM)
    unsaid = {
        'Try "pytest -q" first': "begins like a hint",
        "exit": "ends the client",
        "\u200b/clear": "slash command",
        "\u200b": "empty",
    }
    for text, why in unsaid.items():
        refused = calm.answer({"action": "chat", "text": text})
        assert refused.returncode == 4, refused.stdout
        result = json.loads(refused.stdout)
        assert (why in result["reason"], result["steps"]) == (True, []), result
    # Nothing was done to the form, which takes the next answer.
    done = calm.answer({"action": "select", "optionIndex": 1})
    assert done.returncode == 0, done.stdout
    assert calm.recorded(asked)["answers"] == {"Which database?": "Postgres"}


def test_a_pane_in_which_one_option_fits(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with ScriptedModel() as model:
        one = ApprovalSession(tmp_path, tmux_server, model, "default", channel="keys", size=(80, 11))
        with one.client:
            wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
            one.call(ask({"questions": [FORM]}))
            one.waiting()
            wait_until(lambda: dialog_is_open(one.client.screen()), 30, "the dialog", one.told)
            result = one.decide([{"action": "select", "optionIndex": 0}], code=4)
            assert "make the pane larger" in result["reason"], result
            assert result["steps"] == []
