"""A scripted Anthropic Messages API on 127.0.0.1, so that the real client runs without a network or an account.

A prompt that holds ``ASK <name>`` or ``RUN <name>`` plays the replies registered under that name, one for each turn;
when they are used up, and for everything else, the model answers in text and ends its turn. The server keeps no
conversation: which reply is due follows from the messages of the request, so a request that the client repeats
gets the same reply.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._sandbox.local_server import LocalServer
from hookrouter._sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ModelRequest",
    "Refusal",
    "Reply",
    "Say",
    "ScriptedModel",
    "ToolUse",
    "ToolUses",
    "ask",
    "bash",
    "usage_limit",
    "write",
]

_COMMAND = re.compile(r"\b(?:ASK|RUN) ([\w.-]+)")
_NOT_TYPED = re.compile(r"<system-reminder>.*?</system-reminder>|\[Request interrupted by user[^\]]*\]", re.DOTALL)


class Say(NamedTuple):
    """End the turn with text."""

    text: str


class ToolUse(NamedTuple):
    """Call one tool; ``text`` is said before the call."""

    name: str
    input: Mapping[str, object]
    text: str = ""


class ToolUses(NamedTuple):
    """Call several tools in one message; their own texts come before the first call."""

    calls: tuple[ToolUse, ...]


Reply = Say | ToolUse | ToolUses


class Refusal(NamedTuple):
    """An error that is answered in place of any reply."""

    status: int
    """The HTTP status."""
    kind: str
    """The error's type: ``rate_limit_error``, ``overloaded_error``."""
    message: str
    headers: Mapping[str, str] = {}
    until: float = float("inf")
    """When it is over, in seconds since 1970."""


def usage_limit(until: float, claim: str = "five_hour", **headers: str) -> Refusal:
    """Return what the API answers while a subscription's usage limit holds; the client shows it if it is logged in.

    ``claim`` is the kind of limit: ``five_hour``, ``seven_day``. ``headers`` are more of the unified ones, with ``_``
    for ``-`` and without their beginning.
    """
    unified = {
        "status": "rejected",
        "reset": str(int(until)),
        "representative-claim": claim,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return Refusal(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
        {f"anthropic-ratelimit-unified-{name}": value for name, value in unified.items()},
        until,
    )


class ModelRequest(NamedTuple):
    """One request that the client sent."""

    path: str
    body: dict[str, Any]


def ask(form: Mapping[str, object], text: str = "One question.") -> ToolUse:
    """Return the call of AskUserQuestion with ``form``, which is its input: ``{"questions": [...]}``."""
    return ToolUse("AskUserQuestion", form, text)


def bash(command: str, description: str = "Run a command") -> ToolUse:
    """Return the call of the Bash tool."""
    return ToolUse("Bash", {"command": command, "description": description})


def write(path: str, content: str) -> ToolUse:
    """Return the call of the Write tool; ``path`` is absolute."""
    return ToolUse("Write", {"file_path": path, "content": content})


def _blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _calls(reply: Reply) -> tuple[ToolUse, ...]:
    if isinstance(reply, Say):
        return ()
    return (reply,) if isinstance(reply, ToolUse) else reply.calls


def _text(content: object) -> str:
    return "\n".join(str(block.get("text", "")) for block in _blocks(content) if block.get("type") == "text")


def _names(message: Mapping[str, Any]) -> list[str]:
    """Return the scripts that a message asks for."""
    return _COMMAND.findall(_NOT_TYPED.sub("", _text(message.get("content")))) if message.get("role") == "user" else []


class ScriptedModel(LocalServer):
    """The server; use it as a context manager. All methods may be called from any thread."""

    def __init__(self, script: Mapping[str, Reply | Sequence[Reply]] | None = None) -> None:
        """Register ``script``, the replies by name."""
        self._script: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()
        self._requests: list[ModelRequest] = []
        self._refusal: Refusal | None = None
        self._limits: dict[str, float] = {}
        for name, replies in (script or {}).items():
            self.script(name, replies)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """Return handlers that play this script."""
        model = self

        class Handler(_Handler):
            scripted = model

        return Handler

    @property
    def url(self) -> str:
        """The value for ``ANTHROPIC_BASE_URL``, while the server runs."""
        return self.address

    def script(self, name: str, replies: Reply | Sequence[Reply]) -> None:
        """Register (or replace) what the prompt ``ASK name`` or ``RUN name`` plays, one reply a turn."""
        with self._lock:
            self._script[name] = [replies] if isinstance(replies, (Say, ToolUse, ToolUses)) else list(replies)

    def refuse(self, refusal: Refusal | None) -> None:
        """Answer every request with an error until it is over; None to answer again."""
        with self._lock:
            self._refusal = refusal

    def limit(self, name: str, seconds: float) -> None:
        """Have a usage limit be reached, once, when the script of this name is to be played; it lasts so long."""
        with self._lock:
            self._limits[name] = seconds

    def refusal_of(self, body: Mapping[str, Any]) -> Refusal | None:
        """Return what a request is refused with now; None if it is answered."""
        names = {name for message in body.get("messages") or [] for name in _names(message)}
        with self._lock:
            for name in names & set(self._limits):
                # To the second, as it is told: whoever comes when that says so is not refused.
                self._refusal = usage_limit(math.ceil(time.time() + self._limits.pop(name)))
            refusal = self._refusal
        return refusal if refusal is not None and time.time() < refusal.until else None

    @property
    def requests(self) -> list[ModelRequest]:
        """All requests to ``/v1/messages`` so far, oldest first."""
        with self._lock:
            return list(self._requests)

    def tool_results(self) -> dict[str, str]:
        """Return the text of every tool result that the model has been sent, by tool_use_id."""
        results: dict[str, str] = {}
        for request in self.requests:
            for message in request.body.get("messages", []):
                for block in _blocks(message.get("content")):
                    if block.get("type") == "tool_result":
                        results[str(block.get("tool_use_id"))] = _text(block.get("content"))
        return results

    def wait_for_result(self, tool_use_id: str, timeout: float = 10.0) -> str:
        """Wait until the model got the result of one tool call, and return its text. Raises WaitTimeoutError."""
        wait_until(lambda: tool_use_id in self.tool_results(), timeout, f"tool result of {tool_use_id}")
        return self.tool_results()[tool_use_id]

    def prompts(self) -> list[str]:
        """Return the user's prompts as the model got them, each once, oldest first, without what the client adds."""
        seen: dict[str, None] = {}
        for request in self.requests:
            if not request.body.get("tools"):
                continue
            for message in request.body.get("messages", []):
                if message.get("role") == "user":
                    prompt = _NOT_TYPED.sub("", _text(message.get("content"))).strip()
                    if prompt:
                        seen.setdefault(prompt)
        return list(seen)

    def wait_for_prompt(self, part: str, timeout: float = 10.0) -> str:
        """Wait until the model got a prompt that holds ``part``, and return it. Raises WaitTimeoutError."""

        def probe() -> str:
            return next((prompt for prompt in self.prompts() if part in prompt), "")

        return wait_until(probe, timeout, f"prompt with {part!r}", lambda: "\n".join(self.prompts()))

    def record(self, request: ModelRequest) -> None:
        """Keep a request for later asserts."""
        with self._lock:
            self._requests.append(request)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply that is due for a request."""
        tools = {str(tool.get("name")) for tool in body.get("tools") or [] if isinstance(tool, dict)}
        if not tools:
            # Titles, topics and similar side requests; some insist on JSON.
            return Say('{"title": "Scripted session", "isNewTopic": false}')
        taken = 0
        for message in reversed(body.get("messages") or []):
            if message.get("role") != "user":
                continue
            prompt = _NOT_TYPED.sub("", _text(message.get("content")))
            names = _names(message)
            if names:
                with self._lock:
                    replies = self._script.get(names[-1])
                if replies is None:
                    return Say(f"Nothing is scripted for {names[-1]}.")
                due = replies[taken] if taken < len(replies) else Say("Done.")
                missing = [call.name for call in _calls(due) if call.name not in tools]
                return Say(f"The tool {missing[0]} was not offered.") if missing else due
            if prompt.strip():
                return Say("Understood.")
            if any(block.get("type") == "tool_result" for block in _blocks(message.get("content"))):
                taken += 1
        return Say("Done.")


class _Handler(BaseHTTPRequestHandler):
    """Speaks just enough of the Messages API."""

    protocol_version = "HTTP/1.1"
    scripted: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def do_GET(self) -> None:
        """Answer anything asked for besides messages with an empty list."""
        self._json({"data": [], "has_more": False})

    def do_HEAD(self) -> None:
        """Answer the client's reachability check."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Answer a message, streamed or plain, or a token count."""
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._json({"type": "error", "error": {"type": "invalid_request_error", "message": "not JSON"}}, 400)
            return
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": max(1, len(json.dumps(body)) // 4)})
            return
        if not path.endswith("/messages"):
            self._json({})
            return
        self.scripted.record(ModelRequest(path, body))
        refusal = self.scripted.refusal_of(body)
        if refusal is not None:
            error = {"type": refusal.kind, "message": refusal.message}
            self._json({"type": "error", "error": error}, refusal.status, refusal.headers)
            return
        reply = self.scripted.reply_to(body)
        try:
            if body.get("stream"):
                self._stream(str(body.get("model", "scripted")), reply)
            else:
                self._json(_message(str(body.get("model", "scripted")), reply))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _json(
        self, document: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, model: str, reply: Reply) -> None:
        whole = _message(model, reply)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self._event("message_start", message={**whole, "content": [], "stop_reason": None})
        for index, block in enumerate(whole["content"]):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self._event("content_block_start", index=index, content_block=empty)
            self._event("content_block_delta", index=index, delta=delta)
            self._event("content_block_stop", index=index)
        self._event(
            "message_delta",
            delta={"stop_reason": whole["stop_reason"], "stop_sequence": None},
            usage={"output_tokens": 12},
        )
        self._event("message_stop")

    def _event(self, kind: str, **fields: object) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


def _message(model: str, reply: Reply) -> dict[str, Any]:
    content: list[dict[str, object]] = []
    calls = _calls(reply)
    texts = [reply.text] if isinstance(reply, Say) else [call.text for call in calls if call.text]
    content += [{"type": "text", "text": text} for text in texts]
    for call in calls:
        identifier = f"toolu_{secrets.token_hex(12)}"
        content.append({"type": "tool_use", "id": identifier, "name": call.name, "input": call.input})
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "end_turn" if isinstance(reply, Say) else "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 12,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }
