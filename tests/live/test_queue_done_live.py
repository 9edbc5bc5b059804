"""The end of a queue is told on the real client also if its last item begins no turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.tmux_server import PrivateTmux
from support.queued import SESSION, Queued

pytestmark = pytest.mark.live

CONFIG = '[[agents]]\nid = "tester"\ngateway = "inbox"\nwake_on = ["queue_done"]\n'


@pytest.mark.parametrize("last", ["/compact", "/context"])
def test_a_queue_that_ends_in_a_command_is_told_each_time(tmp_path: Path, tmux_server: PrivateTmux, last: str) -> None:
    with ScriptedModel() as model:
        queued = Queued(tmp_path, tmux_server, model, "keys", config=CONFIG)
        try:
            # Each is a queue of its own; the second one leaves the session's record as the first has left it.
            for text in ("a prompt", last):
                items = queued.send(text)
                queued.wait_done(90)
                queued.wait(
                    "the news",
                    lambda: (queued.store.read("last-wake", SESSION) or {}).get("done") == [items[-1].id],  # noqa: B023
                )
        finally:
            queued.close()
