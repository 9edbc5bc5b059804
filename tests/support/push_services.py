"""Stand-ins for the services of ``docs/guides/phone.md``: they take what the real APIs take, and show what people see.

Written after the services' own documentation: docs.ntfy.sh/publish, api.slack.com/methods/chat.postMessage and
chat.update, core.telegram.org/bots/api, pushover.net/api.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

__all__ = ["RECIPES", "SECRETS", "PushServices", "Shown"]

MANUAL = Path(__file__).parents[2] / "docs" / "guides" / "phone.md"
RECIPES: dict[str, str] = dict(
    re.findall(r"^## (\w+)$.*?^```toml\n(\[gateways.*?)^```$", MANUAL.read_text(), re.MULTILINE | re.DOTALL)
)
"""The tables of the manual, by the service."""

SECRETS = {
    "NTFY_TOPIC": "topic-that-nobody-guesses",
    "NTFY_AUTHORIZATION": "Bearer tk_stand_in_of_ntfy",
    "SLACK_AUTHORIZATION": "Bearer xoxb-stand-in-of-slack",
    "TELEGRAM_TOKEN": "123456:stand-in_of_telegram",
    "PUSHOVER_TOKEN": "standinofpushovertoken",
    "PUSHOVER_USER": "standinofpushoveruser",
}
"""What the recipes name, by the environment variable."""

_NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")
_MARKUP = re.compile(r"<[!@#]|<https?:")


class Shown(NamedTuple):
    """A notification as a person sees it."""

    title: str
    text: str
    url: str
    rings: bool


class _Refused(Exception):
    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status, self.body = status, body


class PushServices:
    """All four in one server; each below a path of its own."""

    def __init__(self) -> None:
        """Listen at a free port, from the start of the block on."""
        self.shown: dict[str, Shown] = {}
        """What is on the screen, by the service's own id of it, in the order of its first coming."""
        self.requests: list[tuple[str, str, str]] = []
        """Service, method and path of each request."""
        self.is_down = False
        services = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                service, _, path = self.path.lstrip("/").partition("/")
                services.requests.append((service, self.command, path))
                try:
                    if services.is_down:
                        raise _Refused(503, {})
                    status, said = 200, getattr(services, f"_{service}")(path, self.headers, body)
                except _Refused as refused:
                    status, said = refused.status, refused.body
                data = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> PushServices:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def in_place_of_the_services(self, recipe: str) -> str:
        """Return a recipe whose addresses are those of the stand-ins."""
        origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        for host, name in (
            ("https://ntfy.sh", "ntfy"),
            ("https://slack.com", "slack"),
            ("https://api.telegram.org", "telegram"),
            ("https://api.pushover.net", "pushover"),
        ):
            recipe = recipe.replace(host, f"{origin}/{name}")
        return recipe

    def _ntfy(self, path: str, headers: Any, body: bytes) -> dict[str, Any]:
        if path:
            raise _Refused(404, {"code": 40401, "http": 404, "error": "page not found"})
        if headers.get("Authorization") != SECRETS["NTFY_AUTHORIZATION"]:
            raise _Refused(401, {"code": 40101, "http": 401, "error": "unauthorized"})
        sent = json.loads(body)
        known = {"topic", "title", "message", "priority", "tags", "click", "actions", "sequence_id", "markdown"}
        assert set(sent) <= known, sent
        if sent["topic"] != SECRETS["NTFY_TOPIC"] or not _NAME.fullmatch(sent["topic"]):
            raise _Refused(403, {"code": 40301, "http": 403, "error": "forbidden"})
        sequence = sent.get("sequence_id") or f"m{len(self.shown)}"
        if not _NAME.fullmatch(sequence):
            raise _Refused(400, {"code": 40049, "http": 400, "error": "invalid request: sequence ID invalid"})
        if len(sent["message"].encode()) > 4096:
            raise _Refused(413, {"code": 41303, "http": 413, "error": "too large: becomes an attachment"})
        rings = sent.get("priority", 3) >= 3
        self.shown[sequence] = Shown(sent.get("title", ""), sent["message"], sent.get("click", ""), rings)
        return {"id": f"i{len(self.requests)}", "event": "message", "topic": sent["topic"], "sequence_id": sequence}

    def _slack(self, path: str, headers: Any, body: bytes) -> dict[str, Any]:
        if headers.get("Authorization") != SECRETS["SLACK_AUTHORIZATION"]:
            return {"ok": False, "error": "invalid_auth"}
        sent = json.loads(body)
        if sent.get("channel") != "C0123456789":
            return {"ok": False, "error": "channel_not_found"}
        if len(sent["text"]) > 40_000:
            return {"ok": False, "error": "msg_too_long"}
        assert not _MARKUP.search(sent["text"]), "Claude's text mentions or links something"
        text = sent["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        stamp = sent.get("ts", f"1800000000.{len(self.shown):06}")
        if path == "api/chat.update" and stamp not in self.shown:
            return {"ok": False, "error": "message_not_found"}
        if path not in ("api/chat.update", "api/chat.postMessage"):
            return {"ok": False, "error": "unknown_method"}
        self.shown[stamp] = Shown("", text, "", path == "api/chat.postMessage")
        return {"ok": True, "channel": "C0123456789", "ts": stamp, "message": {"text": sent["text"]}}

    def _telegram(self, path: str, _headers: Any, body: bytes) -> dict[str, Any]:
        bot, _, method = path.partition("/")
        if bot != f"bot{SECRETS['TELEGRAM_TOKEN']}":
            raise _Refused(401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
        sent = json.loads(body)
        if len(sent["text"].encode("utf-16-le")) > 2 * 4096 or not sent["text"].strip():
            self._telegram_refuses("message is too long")
        if sent["chat_id"] != 123456789:
            self._telegram_refuses("chat not found")
        number = sent.get("message_id", len(self.shown) + 1)
        if method == "editMessageText":
            if str(number) not in self.shown:
                self._telegram_refuses("message to edit not found")
            if self.shown[str(number)].text == sent["text"]:
                self._telegram_refuses("message is not modified")
        elif method != "sendMessage":
            raise _Refused(404, {"ok": False, "error_code": 404, "description": "Not Found"})
        self.shown[str(number)] = Shown("", sent["text"], "", method == "sendMessage")
        return {"ok": True, "result": {"message_id": number, "chat": {"id": 123456789}, "text": sent["text"]}}

    def _telegram_refuses(self, why: str) -> None:
        raise _Refused(400, {"ok": False, "error_code": 400, "description": f"Bad Request: {why}"})

    def _pushover(self, path: str, headers: Any, body: bytes) -> dict[str, Any]:
        assert headers["Content-Type"] == "application/x-www-form-urlencoded"
        sent = {name: values[0] for name, values in parse_qs(body.decode("ascii")).items()}
        if sent.get("token") != SECRETS["PUSHOVER_TOKEN"]:
            raise _Refused(400, {"token": "invalid", "errors": ["application token is invalid"], "status": 0})
        if cancelled := re.fullmatch(r"1/receipts/(\w+)/cancel\.json", path):
            former = self.shown.get(cancelled[1])
            if former is None:
                raise _Refused(404, {"receipt": "not found", "status": 0})
            self.shown[cancelled[1]] = former._replace(rings=False)
            return {"status": 1, "request": "r"}
        if path != "1/messages.json" or sent.get("user") != SECRETS["PUSHOVER_USER"]:
            raise _Refused(400, {"user": "invalid", "errors": ["user identifier is invalid"], "status": 0})
        if len(sent["message"]) > 1024 or len(sent["title"]) > 250 or len(sent.get("url", "")) > 512:
            raise _Refused(400, {"errors": ["message cannot be that long"], "status": 0})
        is_emergency = sent.get("priority") == "2"
        if is_emergency and not (int(sent["retry"]) >= 30 and int(sent["expire"]) <= 10800):
            raise _Refused(400, {"errors": ["retry or expire is invalid"], "status": 0})
        receipt = f"receipt{len(self.shown)}"
        self.shown[receipt] = Shown(sent["title"], sent["message"], sent.get("url", ""), is_emergency)
        return {"status": 1, "request": "r", **({"receipt": receipt} if is_emergency else {})}
