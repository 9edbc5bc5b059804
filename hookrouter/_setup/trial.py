"""Sends a test message the way a question goes: through the outbox and the deliverer, by the gateway itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Message
from hookrouter.messaging.message import INTERRUPTED
from hookrouter.messaging.spawn import spawn_delivery
from hookrouter.storage.documents import StoreError
from hookrouter.storage.journal_query import entries
from hookrouter.util.clock import now
from hookrouter.util.folder_watch import FolderWatch
from hookrouter.util.text import duration

if TYPE_CHECKING:
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.messaging.message import QueuedMessage

__all__ = ["KIND", "SESSION", "Arrival", "message_text", "send_test"]

KIND = "test"
"""The kind of the message."""

SESSION = "hookrouter-init"
"""The session that it is about; there is none."""

_TIMEOUT = 60.0
"""Seconds for which a gateway without a ``timeout`` is waited for."""

_START = 30.0
"""Seconds beside the gateway's own: the deliverer's start, on a machine under load."""

_HANDOVER = 45.0
"""Seconds in which a deliverer that was at work before notices that config.toml is another one."""

_LOOK = 1.0
_NOTED = 3.0
"""Seconds for which the journal's record of a delivery is waited for; it is written after the delivery."""

_TEXT = """\
This is a test of hookrouter. Nobody asks anything, and there is nothing to do or to answer.

It shows that messages{reader} arrive through the gateway {gateway}. {questions}
"""


class Arrival(NamedTuple):
    """What became of a test message."""

    gateway: str
    arrived: bool
    """Whether the gateway has delivered it: the program exited with 0, the server took it, the inbox kept it."""
    reason: str
    """What the gateway said, in one line."""
    seconds: float


def send_test(app: Services, agent: str, gateway: str) -> Arrival:
    """Send one test message through a gateway of config.toml and wait for its delivery.

    A message that does not arrive is taken back, also if this is interrupted. Raises nothing but what a signal does.
    """
    started = time.monotonic()
    text = message_text(app.config, agent, gateway)
    subject = "hookrouter: a test, nothing to do"
    message = Message(KIND, agent, gateway, SESSION, "", "", subject, text)
    try:
        message = app.outbox.put(message)
        try:
            arrived, reason = _followed(app, message.id, gateway)
        finally:
            app.outbox.remove(message.id)
        if arrived:
            reason = _said(app, message.id) or reason
            # The inbox keeps it as a notice, which has done its work.
            notices.dismiss(app.store, message.id)
    except (StoreError, OSError) as error:
        arrived, reason = False, str(error)
    return Arrival(gateway, arrived, reason, time.monotonic() - started)


def message_text(config: Config, agent: str, gateway: str) -> str:
    """Return what the test message says: that it arrives, and which of Claude's questions will come the same way."""
    agents = [one for one in config.agents if one.enabled]
    conditions = []
    if any(gateway in one.fallbacks for one in agents):
        conditions.append("no gateway before it has taken")
    reader = "" if not conditions and gateway == config.answer.escalate_to else f" for {agent}"
    if gateway == config.answer.escalate_to:
        conditions.append(f"are still open after {duration(config.answer.escalate_after)}")
    if any(gateway == one.gateway for one in agents):
        reader, conditions = f" for {agent}", []
    questions = "Claude's questions will come the same way."
    if conditions:
        questions = f"Of Claude's questions, those will come the same way that {', or that '.join(conditions)}."
    return _TEXT.format(reader=reader, gateway=gateway, questions=questions)


def _followed(app: Services, name: str, gateway: str) -> tuple[bool, str]:
    """Have a message delivered; return whether it was, and the reason. Raises OSError and StoreError."""
    timeout = (app.config.gateway(gateway) or ("", {}))[1].get("timeout")
    limit = (timeout if isinstance(timeout, int | float) and timeout else _TIMEOUT) + _START
    messages, _ = app.outbox.watches()
    with messages as watch:
        # One that is at work may have read config.toml before it was changed.
        is_old = not spawn_delivery(app.environ, app.home)
        started = time.monotonic()
        while True:
            message = app.outbox.get(name)
            elapsed = time.monotonic() - started
            if message is None:
                return True, "delivered"
            if _has_failed(message) and not (is_old and elapsed < _HANDOVER):
                return False, message.last_error or ""
            if app.outbox.is_held(message):
                return False, "every session is paused; hookrouter resume --all lets messages go out"
            if elapsed > limit + (_HANDOVER if is_old else 0):
                return False, message.last_error or f"not delivered within {limit:g} s"
            if not watch.wait(_LOOK) and is_old:
                app.outbox.hurry(name)


def _has_failed(message: QueuedMessage) -> bool:
    return message.failures > 0 and message.last_error not in (None, INTERRUPTED)


def _said(app: Services, name: str) -> str:
    """Return what the gateway said of a delivery, as the journal has it; empty if it has nothing."""
    deadline = time.monotonic() + _NOTED
    while time.monotonic() < deadline:
        for entry in entries(app.journal, now() - 3600):
            if entry.record.get("wake") == name and entry.record.get("outcome") == "delivered":
                return str(entry.record.get("reason", ""))
        try:
            with FolderWatch(app.home.logs) as watch:
                watch.wait(0.2)
        except OSError:
            break
    return ""
