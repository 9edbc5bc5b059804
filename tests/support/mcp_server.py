"""An MCP server on stdin and stdout with two tools: ``echo`` says its text again, ``form`` asks the user a form.

    python mcp_server.py LISTED

The file LISTED is there once the client has asked for the tools. Speaks as much of the protocol (2025-06-18) as the
real client needs.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__: list[str] = []

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name"}, "ok": {"type": "boolean", "title": "OK"}},
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


def main() -> None:
    """Answer requests until stdin ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            say({"id": message["id"], "result": result(message["method"], message.get("params") or {})})
            if message["method"] == "tools/list":
                open(sys.argv[1], "w").close()


def result(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = parameters.get("protocolVersion", "2025-06-18")
        named = {"name": "demo", "version": "1"}
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
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
