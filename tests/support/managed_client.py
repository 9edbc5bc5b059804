"""A managed client of the real Claude Code, on a stage: it asks, an agent answers, the journal tells of both."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.client import ClientSession, dialog_is_open
from hookrouter._sandbox.scripted_model import ask, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter._sandbox.scripted_model import ScriptedModel
    from hookrouter._sandbox.tmux_server import PrivateTmux

__all__ = ["EVENTS", "RULES", "WORDS", "ManagedClient", "once", "press_until", "question"]

CONFIG = """\
[[agents]]
id = "tester"
sessions = ["managed*"]
gateway = "none"

[gateways.none]
type = "command"
argv = {argv}
format = "json"

[answer]
channels = ["reply"]
"""

RULES = """
[[approvals.rules]]
tool = "Bash"
decide = "agent"
"""
ASKING = {"defaultMode": "default"}

EVENTS = ("UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop")
"""The events of one question that is answered, in their order."""

WORDS = ["user-prompt-submit", "pre-tool-use", "permission-request", "post-tool-use", "stop"]


def question(text: str) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in ("Left", "Right")]
    return {"question": text, "header": "Way", "multiSelect": False, "options": options}


def once(turns: int = 1) -> Counter[str]:
    """Return how often each event is handled in so many turns of one question each."""
    return Counter(dict.fromkeys(EVENTS, turns))


def press_until(client: ClientSession, key: str, is_over: Callable[[], bool], told: Callable[[], str]) -> None:
    """Press a key until something is over, a second apart: an open dialog does not take it at first.

    ``told`` says what is worth knowing if it never is.
    """
    for _ in range(10):
        if not is_over():
            client.pane.press(key)
        with suppress(WaitTimeoutError):
            wait_until(is_over, 1.0, "the key to take hold")
            return
    raise AssertionError(told())


class ManagedClient:
    """A client whose questions an agent answers by their waiting hooks. The stage is there from the beginning."""

    def __init__(self, folder: str, config: str, *install: str) -> None:
        """``config`` is added to the stage's config.toml, ``install`` are the options of ``hookrouter install``."""
        self.stage = Stage(folder, CONFIG.format(argv=json.dumps([sys.executable, "-c", ""])) + config)
        settings = self.stage.client_home.read_settings()
        if "approvals.rules" in config:
            self.stage.client_home.write_settings({**settings, "permissions": ASKING})
        self.stage.install(*install)
        self._turns = 0

    def bring_up(self, server: PrivateTmux, model: ScriptedModel, program: str, environ: dict[str, str]) -> None:
        """Take the terminal and the model; :meth:`start` starts the client."""
        self.model = model
        words = [program, "--debug-file", os.path.join(self.stage.folder, "debug.log")]
        size = {"width": 120, "height": 40}
        self.client = ClientSession(words, server, self.stage.client_home, environ, session="managed", **size)

    def start(self) -> None:
        self.client.start()

    def ask(self, text: str) -> None:
        """Have Claude ask, and wait until somebody waits beside the dialog."""
        self._turns += 1
        self.model.script(f"t{self._turns}", ask({"questions": [question(text)]}))
        self.client.submit(f"please ASK t{self._turns}")
        self.client.wait_dialog(text, timeout=40)
        wait_until(lambda: len(self.stage.documents("reply-waiting")) == 1, 20, "a hook that waits", self.told)

    def press(self, key: str) -> None:
        """Close the dialog by a key as a person does: again, while it is there (it ignores keys in its first 0.2 s)."""

        press_until(self.client, key, lambda: not dialog_is_open(self.client.screen()), self.told)

    def answer(self, index: int = 1) -> str:
        """Answer as an agent does, wait for the end of the turn, and return what the model was told."""
        said = json.dumps([{"action": "select", "optionIndex": index}])
        done = self.stage.run("answer", "--session", "managed", "--json", "--wait", "40", said)
        assert done.returncode == 0, (done.stdout, done.stderr, self.told())
        self.wait_stop()
        return list(self.model.tool_results().values())[-1]

    def ask_permission(self, target: str) -> None:
        """Have Claude ask for permission to make a file, and wait until a hook waits beside the dialog."""
        settings = self.stage.client_home.read_settings()
        # A new client begins in auto mode, in which it asks for no such call.
        assert settings.get("permissions") == ASKING, "the client must begin in a mode in which it asks"
        self._turns += 1
        self.model.script(f"t{self._turns}", bash(f"touch {target}"))
        self.client.submit(f"please RUN t{self._turns}")
        wait_until(lambda: len(self.stage.documents("reply-waiting")) == 1, 30, "a hook that waits", self.told)

    def decide(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Decide as an agent does, and return the result."""
        done = self.stage.run("answer", "--session", "managed", "--json", "--wait", "40", json.dumps([decision]))
        assert done.returncode == 0, (done.stdout, done.stderr, self.told())
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def wait_stop(self) -> None:
        """Wait until hookrouter has seen the end of each turn so far, and the client has heard so."""
        wait_until(lambda: self.handled()["Stop"] >= self._turns, 30, "the end of the turn", self.told)
        self.client.wait_idle()

    def handled(self) -> Counter[str]:
        """Return how often each event was handled to its end, by whomever.

        Calls that are marked as handled do not count, nor those that were known as an earlier one again.
        """
        return Counter(
            str(record["event"])
            for record in self.stage.journal()
            if record.get("event") in EVENTS
            and record.get("outcome") not in ("handled", "repeated")
            and "repeated" not in record
        )

    def waiting(self) -> int | None:
        """Return the process that waits beside the dialog."""
        for name in self.stage.documents("reply-waiting"):
            with open(os.path.join(self.stage.home.state, name), encoding="utf-8") as file:
                process: int = json.load(file)["pid"]
                return process
        return None

    def told(self) -> str:
        """Return what is worth knowing when something did not come."""
        return f"{self.client.screen()}\n{self.stage.journal()[-8:]}"

    def wait_screen(self, text: str) -> None:
        wait_until(lambda: text in self.client.screen(), 15, f"{text!r} on screen", self.told)
