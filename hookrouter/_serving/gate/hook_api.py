"""Claude Code's http hooks, at a TCP address: every user of the machine and every web page can reach it.

So nothing is told, not even which paths there are, to a request without the token, for another host, or with an origin.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
from typing import TYPE_CHECKING, Any

from hookrouter._contract.hook_names import event_facts
from hookrouter._serving.caller import BroughtCall, CallError
from hookrouter._serving.gate.answers import FailedHook, answer_of
from hookrouter._serving.gate.messages import MAX_PAYLOAD
from hookrouter._serving.gate.sent_headers import HEADERS
from hookrouter._serving.gate.waits import Waits
from hookrouter.serving.http import (
    Gone,
    TooLong,
    body_of,
    gone,
    headers_of,
    path_of,
    send_json,
    send_nothing,
    start_json,
)
from hookrouter.serving.log import say
from hookrouter.util import fastjson

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookrouter._serving.caller import Outcome
    from hookrouter.serving.http import Receive, Send

__all__ = ["HookApi"]

HEARTBEAT = 15.0
"""Seconds between the blanks that are sent while a call waits: less than any proxy takes for an idle connection."""

MAX_RUNNING = 1000

_STARTERS = re.compile(r"(TMUX|TMUX_PANE|CLAUDECODE|CLAUDE_.*)")
"""The variables that the router has of the session that started it, and that are none of another one."""

_WORD = re.compile(r"/hook/([a-z][a-z0-9-]{0,63})")


class HookApi:
    """The ASGI application."""

    def __init__(
        self, host: str, token: str, environ: Mapping[str, str], bring: Callable[[BroughtCall], Awaitable[Outcome]]
    ) -> None:
        """``host`` is the address as the ``Host`` header has it, ``environ`` what all hooks have of the gate."""
        # Clients leave out the port that goes without saying.
        self._hosts = {host.lower(), host.lower().removesuffix(":80")}
        self._authorization = f"Bearer {token}".encode()
        self._environ = {name: value for name, value in environ.items() if not _STARTERS.fullmatch(name)}
        self._bring = bring
        self._waits = Waits()
        self._running: set[asyncio.Task[Outcome]] = set()
        self._is_ending = False

    def end_connections(self) -> None:
        """Have each connection end with its next answer: a further request is the next gate's."""
        self._is_ending = True

    def __len__(self) -> int:
        """Return how many calls are running."""
        return len(self._running)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def answer(message: dict[str, Any]) -> None:
            if self._is_ending and message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        await self._answer(scope, receive, answer)

    async def _answer(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        word = _WORD.fullmatch(path_of(scope))
        status = self._refusal(scope["method"], headers, is_known=word is not None)
        if status or word is None:
            await send_nothing(send, status, close=True)
            return
        try:
            body = await body_of(scope, receive, MAX_PAYLOAD)
            payload = fastjson.loads(body)
        except TooLong:
            await send_nothing(send, 413, close=True)
        except ValueError:
            await send_nothing(send, 400)
        except Gone:
            return
        else:
            if isinstance(payload, dict):
                await self._serve(word[1], body, payload, headers, receive, send)
            else:
                await send_nothing(send, 400)

    def _refusal(self, method: str, headers: Mapping[str, list[str]], *, is_known: bool) -> int:
        """Return the status with which a request is refused; 0 for one that is taken."""
        hosts, tokens = headers.get("host", []), headers.get("authorization", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts or "origin" in headers:
            return 403
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0].encode("latin-1"), self._authorization):
            return 401
        if not is_known:
            return 404
        if method != "POST":
            return 405
        kinds = [kind.partition(";")[0].strip().lower() for kind in headers.get("content-type", [])]
        if kinds != ["application/json"]:
            return 415
        return 503 if len(self._running) >= MAX_RUNNING else 0

    async def _serve(
        self,
        word: str,
        body: bytes,
        payload: dict[str, Any],
        headers: Mapping[str, list[str]],
        receive: Receive,
        send: Send,
    ) -> None:
        """Make the call, and answer what becomes of it; a client that leaves ends it."""
        facts = event_facts(word)
        event = facts.name if facts else word
        self._waits.heard(event, payload)
        call = BroughtCall(word, body, _folder(payload.get("cwd")), self._variables(headers, payload))
        task = asyncio.ensure_future(self._made(call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if event == "PermissionRequest":
            self._waits.add(task, payload)
        leaving = asyncio.ensure_future(gone(receive))
        try:
            is_begun = await _beat(task, leaving, send)
            if task.done():
                await _tell(send, event, task, is_begun=is_begun)
        finally:
            leaving.cancel()
            task.cancel()
            await asyncio.gather(task, leaving, return_exceptions=True)

    async def _made(self, call: BroughtCall) -> Outcome:
        return await self._bring(call)

    def _variables(self, headers: Mapping[str, list[str]], payload: Mapping[str, Any]) -> dict[str, str]:
        """Return the environment of a call: the gate's own, and what the client tells of its own."""
        environ = {**self._environ, "CLAUDECODE": "1"}
        session = payload.get("session_id")
        if isinstance(session, str) and session and "\0" not in session:
            environ["CLAUDE_CODE_SESSION_ID"] = session.encode("utf-8", "replace").decode("utf-8")
        for header, name in HEADERS.items():
            value = headers.get(header, [""])[0].encode("latin-1").decode("utf-8", "replace")
            if value and "\0" not in value:
                environ[name] = value
        return environ


def _folder(cwd: object) -> str:
    """Return the folder in which a call runs: the session's, or the root if that is not there any more."""
    return cwd if isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd and os.path.isdir(cwd) else "/"


async def _beat(task: asyncio.Task[Outcome], leaving: asyncio.Task[None], send: Send) -> bool:
    """Wait until the call ends or the client leaves, sending blanks; return whether the answer was begun."""
    is_begun = False
    while True:
        done, _ = await asyncio.wait([task, leaving], timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return is_begun
        if not is_begun:
            await start_json(send, 200, [])
            is_begun = True
        await send({"type": "http.response.body", "body": b" ", "more_body": True})


async def _tell(send: Send, event: str, task: asyncio.Task[Outcome], *, is_begun: bool) -> None:
    """Answer what became of a call."""
    try:
        # One that was ended, because a person has answered, says nothing; nobody reads it.
        answer = {} if task.cancelled() else answer_of(event, task.result())
    except (CallError, FailedHook) as error:
        say(f"gate: {event}: {error}", event="hook", level="error")
        if not is_begun:
            await send_nothing(send, 500)
        # Else the connection is closed without an end of the answer, which is a failed hook too.
        return
    if is_begun:
        await send({"type": "http.response.body", "body": fastjson.dumps(answer).encode("ascii")})
    else:
        await send_json(send, 200, answer)
