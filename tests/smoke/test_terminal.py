"""What is typed into the client: prompts of a queue, and an answer. A third party's plugin brings the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.smoke import SmokeStage, form, question

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION = "smoke"
COLUMNS, ROWS = 100, 40

TERMINAL = f"""
from hookrouter import hookimpl
from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend, TerminalError, TerminalGone

SIGNS = {{"Enter": "\\n", "Space": " "}}

class PipedTerminal(TerminalBackend):
    name = "piped"

    def locate(self, environ):
        screen, client = environ.get("SMOKE_SCREEN"), environ.get("CLAUDE_PID")
        return TerminalAddress(self.name, "{SESSION}", client, screen) if screen and client else None

    def capture(self, address):
        with open(address.server, encoding="utf-8") as file:
            # The gap of the prompt box is a no-break space, which strip() alone would take away.
            lines = [line.rstrip(" ") for line in file.read().split("\\n")]
        return Screen(tuple(lines + [""] * ({ROWS} - len(lines))), {COLUMNS}, {ROWS})

    def press(self, address, key):
        sign = SIGNS.get(key, key)
        if len(sign) > 1:
            raise TerminalError(key + " is not a key of a pipe")
        self.paste(address, sign)

    def paste(self, address, text):
        try:
            with open(f"/proc/{{address.target}}/fd/0", "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise TerminalGone(str(error)) from None

@hookimpl
def terminal_backend():
    return PipedTerminal()
"""

KEYS = '\n[answer]\nchannels = ["keys"]\nterminal = "piped"\n\n[sessions]\nchannels = ["keys"]\n'


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[SmokeStage]:
    """One whose stand-in for Claude Code is drawn in that terminal."""
    with SmokeStage(tmp_path) as stage:
        stage.configure(stage.agent.partition("[answer]")[0] + KEYS)
        stage.plugin("piped-terminal", TERMINAL)
        stage.variables["SMOKE_SCREEN"] = str(tmp_path / "stand-in.screen")
        stage.install()
        yield stage


def test_what_is_sent_to_a_session_is_typed_in_turn_and_proven(stage: SmokeStage) -> None:
    texts = ["please read the plan", "and then the code"]
    with stage.starts({}) as claude:
        sent = stage.json("send", f"--session={SESSION}", "--wait=done", *texts)
        assert (sent["outcome"], [item["text"] for item in sent["items"]]) == ("done", texts)
        assert [line for line in claude.screen().splitlines() if line.startswith("❯ ")][:2] == [f"❯ {t}" for t in texts]
        told = stage.hears("queue_done")

    assert [item["text"] for item in told["data"]["done"]] == texts
    ended = stage.json("queue", "list", "--all")["ended"]
    assert [(item["text"], item["state"], item["channel"]) for item in ended] == [(t, "done", "keys") for t in texts]
    assert [item["proof"] for item in ended] == [{"event": "UserPromptSubmit"}] * 2
    assert stage.outcomes("queue") == ["sent", "submitted", "submitted"]


def test_an_answer_is_typed_into_the_dialog_and_verified(stage: SmokeStage) -> None:
    with stage.starts({"way": form(question("Which way?", "Left", "Right"))}) as claude:
        claude.submit("please ASK way")
        asked = stage.hears()
        assert asked["session"] == SESSION
        result = stage.answer(asked, {"action": "select", "optionIndex": 1})
        stage.turn_ends()
        assert "Which way? → Right" in claude.screen()

    assert (result["outcome"], result["channel"]) == ("verified", "keys")
    assert result["steps"] == ["2: choose option 2 of question 1 by its number"]
