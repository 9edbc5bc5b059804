"""An MCP server on stdin and stdout with two tools: ``echo`` says its text again, ``form`` asks the user a form.

``python mcp_server.py LISTED``: the file LISTED is there once the client has asked for the tools. It speaks as much of
the protocol (2025-06-18) as the real client needs.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["NAME", "server_config"]

NAME = "demo"
"""What the client is told that the server is called."""

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name"},
        "ok": {"type": "boolean", "title": "OK"},
        "mail": {"type": "string", "format": "email"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "areas": {"type": "array", "items": {"type": "string", "enum": ["ui", "db"]}},
    },
    "required": ["name"],
}
TOOLS = [
    {
        "name": "echo",
        "description": "Say a text again",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
    {"name": "form", "description": "Ask the user a form", "inputSchema": {"type": "object", "properties": {}}},
]


def server_config(listed: str) -> dict[str, Any]:
    """Return what ``claude --mcp-config`` reads; the file ``listed`` is there once the client knows the tools."""
    return {"mcpServers": {NAME: {"command": sys.executable, "args": [__file__, listed]}}}


def main() -> None:
    """Answer requests until stdin ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            say({"id": message["id"], "result": result(message["method"], message.get("params") or {})})
            if message["method"] == "tools/list":
                open(sys.argv[1], "w").close()


def result(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what a request gets."""
    if method == "initialize":
        version = parameters.get("protocolVersion", "2025-06-18")
        named = {"name": NAME, "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": named}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = asked() if parameters["name"] == "form" else f"echo {parameters['arguments'].get('text', '')}"
        return {"content": [{"type": "text", "text": text}]}
    return {}


def asked() -> str:
    """Ask the form; return what came back, as JSON."""
    say({"id": "form-1", "method": "elicitation/create", "params": {"message": "Your name?", "requestedSchema": FORM}})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "form-1" and "method" not in message:
            return json.dumps(message.get("result") or {"error": message.get("error")}, sort_keys=True)
        if "id" in message and "method" in message:
            say({"id": message["id"], "result": {}})
    return "no answer"


def say(message: dict[str, Any]) -> None:
    """Send one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
