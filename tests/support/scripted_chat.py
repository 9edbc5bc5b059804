"""A scripted OpenAI-compatible chat model on 127.0.0.1, so that a real OpenClaw agent runs without a provider.

A script is a function from the conversation to the next reply, so that a request that is repeated gets the same one.
"""

from __future__ import annotations

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._sandbox.local_server import LocalServer
from hookrouter._sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Call", "Chat", "ScriptedChat", "Words"]


class Words(NamedTuple):
    """End the turn with text."""

    text: str


class Call(NamedTuple):
    """Call one tool."""

    tool: str
    arguments: Mapping[str, object]


class Chat(NamedTuple):
    """What one request to the model holds."""

    prompt: str
    """What the user said since the model's last words; the agent may add messages of its own to it."""
    results: tuple[str, ...]
    """The tool results since then, oldest first."""
    system: str
    """The system prompt."""
    tools: tuple[str, ...]
    """The names of the tools that were offered."""
    body: Mapping[str, Any]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _chat(body: Mapping[str, Any]) -> Chat:
    results: list[str] = []
    prompts: list[str] = []
    messages = body.get("messages") or []
    for message in reversed(messages):
        if message.get("role") == "tool":
            results.insert(0, _text(message.get("content")))
        elif message.get("role") == "user":
            prompts.insert(0, _text(message.get("content")))
        elif message.get("role") == "assistant" and not message.get("tool_calls"):
            break
    system = "\n".join(_text(message.get("content")) for message in messages if message.get("role") == "system")
    tools = tuple(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or [])
    return Chat("\n".join(prompts), tuple(results), system, tools, body)


class ScriptedChat(LocalServer):
    """The server; use it as a context manager. All methods may be called from any thread."""

    def __init__(self) -> None:
        """Say the same to everything, until :attr:`script` is set."""
        self.script: Callable[[Chat], Words | Call] = lambda _chat: Words("Done.")
        self._lock = threading.Lock()
        self._chats: list[Chat] = []

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """Return handlers that play this script."""
        chat = self

        class Handler(_Handler):
            scripted = chat

        return Handler

    @property
    def url(self) -> str:
        """The provider's base address, while the server runs."""
        return f"{self.address}/v1"

    def chats(self, part: str = "") -> list[Chat]:
        """Return the requests so far whose prompt holds ``part``, oldest first."""
        with self._lock:
            return [chat for chat in self._chats if part in chat.prompt]

    def turns(self, part: str) -> list[Chat]:
        """Return the first request of each turn whose prompt holds ``part``."""
        return [chat for chat in self.chats(part) if not chat.results]

    def wait_for(self, part: str, count: int = 1, timeout: float = 30.0) -> Sequence[Chat]:
        """Wait for ``count`` turns whose prompt holds ``part``, and return them. Raises WaitTimeoutError."""

        def probe() -> Sequence[Chat] | None:
            turns = self.turns(part)
            return turns if len(turns) >= count else None

        return wait_until(
            probe, timeout, f"{count} turns with {part!r}", lambda: "\n".join(chat.prompt for chat in self.chats())
        )

    def reply_to(self, body: Mapping[str, Any]) -> Words | Call:
        """Record a request, and return the reply that is due."""
        chat = _chat(body)
        with self._lock:
            self._chats.append(chat)
        reply = self.script(chat)
        if isinstance(reply, Call) and reply.tool not in chat.tools:
            return Words(f"The tool {reply.tool} was not offered.")
        return reply


class _Handler(BaseHTTPRequestHandler):
    """Speaks just enough of the chat completions API."""

    scripted: ScriptedChat

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def do_POST(self) -> None:
        """Answer a chat completion, streamed or plain."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        message, reason = _message(self.scripted.reply_to(body))
        common = {"id": f"chatcmpl-{secrets.token_hex(8)}", "created": 0, "model": str(body.get("model"))}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send("application/json", json.dumps(whole).encode())
            return
        chunks: list[dict[str, object]] = [
            {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        ]
        lines = [json.dumps({**common, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
        self._send("text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _message(reply: Words | Call) -> tuple[dict[str, object], str]:
    if isinstance(reply, Words):
        return {"role": "assistant", "content": reply.text}, "stop"
    function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
    call = {"index": 0, "id": f"call_{secrets.token_hex(8)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
