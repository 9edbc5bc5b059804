"""The prompt channel ``mod`` on the real client: prompts and commands go in through the client's own interface."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter.queue.documents import change_queue
from support.matrix import mostly_long
from support.mod_queued import ModQueued
from support.mod_stage import short_folder
from support.queued import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

LONG = "\n".join(f"{number}. line — of a long text 🚀 日本語" for number in range(1, 400))
TEXTS = [
    "do the first thing",
    "first line\n\n  third, indented\t with a tab\n/clear is no command here\n!ls neither",
    "it ends in a backslash \\",
    "look at @readme and # this, & that; 'in one word' \"please\" $HOME `x` #{pane_id} ^A",
    LONG,
]


@contextmanager
def modded(server: PrivateTmux, version: str | None = None) -> Iterator[ModQueued]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(short_folder()))
        model = stack.enter_context(ScriptedModel())
        one = ModQueued(folder, server, model, version=version, start=False)
        stack.callback(one.close)
        one.client = one.start_client()
        stack.callback(one.client.stop)
        yield one


@pytest.mark.parametrize("version", mostly_long([None, "2.1.287"], None))
def test_texts_go_in_exactly_and_in_order(tmux_server: PrivateTmux, version: str | None) -> None:
    with modded(tmux_server, version) as one:
        one.send(*TEXTS)
        one.wait_done(90)
        assert one.prompts() == TEXTS
        ended = one.ended()
        assert {ended[text].state for text in TEXTS} == {"done"}, one.state()
        assert {ended[text].channel for text in TEXTS} == {"mod"}


COMMANDS = ["/phase:next one two", "/context", "/rename a new name", "/compact keep the plan", "/clear", "go on"]


@pytest.mark.parametrize("version", mostly_long([None, "2.1.287"], None))
def test_commands_are_run(tmux_server: PrivateTmux, version: str | None) -> None:
    with modded(tmux_server, version) as one:
        one.send("something to compact", *COMMANDS)
        one.wait_done(90)
        ended = one.ended()
        assert {text: ended[text].state for text in COMMANDS} == dict.fromkeys(COMMANDS, "done"), one.state()


def test_what_it_does_not_carry_it_refuses(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        for text, reason in {"/model": "panel", "/nope": "no command", "!ls": "shell"}.items():
            one.send(text)
            one.wait("a hold", lambda: one.queue.hold)
            assert reason in one.ended()[text].reason
            change_queue(one.store, SESSION, lambda queue: queue._replace(hold=None, items=()))
        assert one.prompts() == []


def test_a_draft_stays_and_one_who_types_is_waited_for(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.client.pane.type("half a thou")
        one.client.pane.wait_for("half a thou")
        one.send("go on with it")
        one.wait_done(90)
        assert one.prompts() == ["go on with it"]
        assert "half a thou" in one.client.screen()
