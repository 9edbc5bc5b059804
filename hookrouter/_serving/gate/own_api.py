"""The gate's HTTP on the socket of this user alone: calls with ids, which a client asks for until they have ended.

The paths of prompts are told in :mod:`hookrouter._serving.gate.prompt_api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter._serving.caller import CallError
from hookrouter._serving.gate.calls import Refused
from hookrouter._serving.gate.messages import MAX_BODY, BadRequest, call_request, wait_of
from hookrouter._serving.gate.prompt_api import answer_prompts
from hookrouter.serving.http import Gone, TooLong, body_of, path_of, send_json, send_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter._serving.gate.calls import Calls, Entry
    from hookrouter._serving.gate.prompts import Mods
    from hookrouter.serving.http import Receive, Send

__all__ = ["OwnApi"]

_CALLS = "/v1/calls"


class OwnApi:
    """The ASGI application."""

    def __init__(self, calls: Calls, mods: Mods, health: Callable[[], Mapping[str, object]]) -> None:
        """``health`` says what ``GET /health`` answers."""
        self._calls = calls
        self._mods = mods
        self._health = health

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            status, answer = await self._answer(
                scope["method"], path_of(scope), await body_of(scope, receive, MAX_BODY)
            )
        except BadRequest as error:
            status, answer = 400, {"error": str(error)}
        except TooLong:
            # The rest of the body is not read.
            await send_nothing(send, 413, close=True)
            return
        except Gone:
            return
        await send_json(send, status, answer)

    async def _answer(self, method: str, path: str, body: bytes) -> tuple[int, Mapping[str, object]]:
        identifier = path[len(_CALLS) + 1 :] if path.startswith(f"{_CALLS}/") else ""
        if path == "/health" and method == "GET":
            return 200, self._health()
        if path == _CALLS and method == "POST":
            request = call_request(body)
            try:
                return 200, await _state(self._calls.begin(request), request.wait)
            except Refused as error:
                return 200, {"state": "failed", "reason": str(error)}
        if identifier and method == "POST":
            seconds = wait_of(body)
            entry = self._calls.get(identifier)
            return (404, {"error": "no call of this id"}) if entry is None else (200, await _state(entry, seconds))
        if identifier and method == "DELETE":
            return (200, {}) if self._calls.end(identifier) else (404, {"error": "no call of this id"})
        if method == "POST" and (answer := await answer_prompts(self._mods, path, body)) is not None:
            return answer
        if identifier or path in (_CALLS, "/health"):
            return 405, {"error": "another method is needed"}
        return 404, {"error": "no such path"}


async def _state(entry: Entry, seconds: float) -> dict[str, object]:
    """Return what is known of a call after so many seconds at most."""
    try:
        outcome = await entry.wait(seconds)
    except CallError as error:
        return {"state": "failed", "reason": str(error)}
    if outcome is None:
        return {"state": "waiting"}
    return {
        "state": "done",
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": outcome.stderr.decode("utf-8", "replace"),
    }
