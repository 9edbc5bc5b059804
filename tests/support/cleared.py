"""Makes a client that has served one test ready for the next: as after a start, without the time that a start takes."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._sandbox.client import ClientSession, prompt_box
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.messaging.outbox import Outbox
from hookrouter.sessions.records import list_records
from hookrouter.storage.engine import open_store

if TYPE_CHECKING:
    from hookrouter._sandbox.stage import Stage

__all__ = ["ForgetfulModel", "clear", "come_to_prompt"]


class ForgetfulModel(ScriptedModel):
    """A scripted model that can forget what it was sent."""

    def forget(self) -> None:
        """Have no request of before be told of."""
        with self._lock:
            self._requests.clear()


def come_to_prompt(client: ClientSession, wait: float = 2.0) -> None:
    """Bring a client back to its empty prompt, as far as Escape does. Raises nothing.

    ``wait`` is how many seconds it may take to come there by itself.
    """
    for _ in range(10):
        with suppress(WaitTimeoutError):
            client.wait_idle(timeout=wait)
            return
        # Only where something stays in the prompt's place: an Escape that closes nothing would make Alt+P, which
        # opens the model picker, of the next prompt's first letter. For a moment there may be no prompt anyway.
        box = prompt_box(client.screen())
        if box is None:
            client.pane.press("Escape")
        elif box.text and not box.text.startswith("Try "):
            # A key that was meant for a dialog came after its end.
            client.pane.press("C-u")


def clear(client: ClientSession, stage: Stage, model: ForgetfulModel) -> None:
    """Have a managed client begin another conversation on an empty screen, and forget what was recorded so far.

    Nothing is open then, and nothing on its way to the agent. Raises WaitTimeoutError if it does not come to that.
    """
    store = open_store(stage.home, lambda _said: None)

    def identifier() -> str:
        return next((one.session_id for one in list_records(store) if one.session == client.session), "")

    def told() -> str:
        return f"{client.screen()}\n{stage.journal()[-8:]}"

    come_to_prompt(client, 0.5)
    before = identifier()
    client.submit("/clear")
    # The hooks of all that was before have ended by then.
    wait_until(lambda: identifier() not in ("", before), 20, "another conversation", told)
    client.wait_idle()
    wait_until(lambda: not stage.documents("question"), 10, "the end of all questions", told)
    outbox = Outbox(stage.home, lambda _said: None)
    wait_until(lambda: not outbox.pending(), 20, "the end of all messages", told)
    model.forget()
    with suppress(FileNotFoundError):
        os.unlink(stage.payload_file)
