"""Hands prompts to the module inside a session's client, through the gate of the resident router.

``hookrouter install --front mod`` puts the module there. Facts about it: measured on Claude Code 2.1.287 to 2.1.330.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.home import GATE
from hookrouter.util import unix_socket
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Handover", "ModError", "ModGate", "ModUnknown", "Said"]

_SECONDS = 5.0
"""Seconds that the gate has to answer, beside those that it was asked to wait."""

_LONGEST_ANSWER = 1 << 20


class ModError(HookrouterError):
    """The gate could not be asked, or says what it should not; what was handed over may have arrived."""


class ModUnknown(HookrouterError):
    """The gate does not know the module (any more): this request has handed nothing over."""


class Handover(NamedTuple):
    """What a module is to bring into its session."""

    id: str
    """A module acts on an id once, however often it is handed over."""
    kind: str
    """``prompt`` or ``command``."""
    text: str
    """The prompt; of a command its name without the slash."""
    arguments: str = ""
    """What follows a command's name."""


class Said(NamedTuple):
    """What a module says has become of a handover."""

    outcome: str
    """``submitted``: the client took it; ``busy`` (Claude works), ``typing`` (a person types), ``dropped`` (the client
    threw it away) and ``refused``: the session was given nothing; anything else: nobody knows."""
    reason: str
    """Why, in the client's words or the module's; empty for ``submitted``."""


class ModGate:
    """The gate of one home, as those see it who hand prompts over."""

    def __init__(self, folder: str) -> None:
        """Take the folder of the router (:attr:`hookrouter.storage.home.Home.router`)."""
        self._folder = folder

    def is_there(self) -> bool:
        """Whether there is a gate's socket: without one nobody needs to be asked."""
        return os.path.exists(os.path.join(self._folder, GATE))

    def mod_of(self, session_id: str) -> str | None:
        """Return the id of the module in the client that shows a session; None without one. Raises ModError."""
        found = self._post("/v1/mods", {"session_id": session_id}).get("mod")
        return found if isinstance(found, str) and found else None

    def hand(self, mod: str, handover: Handover, seconds: float) -> Said | None:
        """Hand something over, unless it was, and wait until the module has said what became of it.

        Returns None if it has not within so many seconds (60 at most). Raises ModError, ModUnknown.
        """
        answer = self._post("/v1/prompts", {"mod": mod, **handover._asdict(), "wait": seconds}, seconds)
        if answer.get("state") == "waiting":
            return None
        outcome, reason = answer.get("outcome"), answer.get("reason", "")
        if not isinstance(outcome, str) or not isinstance(reason, str):
            raise ModError("the router's gate gives no outcome")
        return Said(outcome, printable(reason))

    def _post(self, path: str, body: Mapping[str, object], seconds: float = 0.0) -> dict[str, Any]:
        # Where plugins are only looked at, it would be a quarter of the time.
        from http import HTTPStatus, client

        connection = client.HTTPConnection("hookrouter")
        try:
            connection.sock = unix_socket.connect(self._folder, GATE, seconds + _SECONDS)
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            response = connection.getresponse()
            status, data = response.status, response.read(_LONGEST_ANSWER)
        except (OSError, client.HTTPException) as error:
            raise ModError(f"the router's gate: {error}") from None
        finally:
            connection.close()
        if status == HTTPStatus.NOT_FOUND:
            # A router of before prompts could be handed over has no such path.
            raise ModUnknown("the router's gate does not know the module")
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if status != HTTPStatus.OK or not isinstance(answer, dict):
            raise ModError(f"the router's gate answers with status {status}")
        return answer
