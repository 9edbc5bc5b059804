"""The demo's agent: woken by the command gateway, it decides by plain rules and calls ``hookrouter answer``.

``python -P -m hookrouter_demo.rule_agent LOG`` reads one message (the command gateway's
``format = "json"``) on stdin and appends to ``LOG``, a file of JSON lines, what it was told, decided and got back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from hookrouter.util.program import script_argv
from hookrouter_demo.scenes import TYPED

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["decide", "decide_on", "main"]


def decide(question: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the decision for one question of a form, and why."""
    options = question["options"]
    if question.get("multiSelect"):
        wanted = [index for index, option in enumerate(options) if "later" not in option["description"]]
        return {"action": "multi-select", "selectedIndices": wanted}, "all that is not for later"
    for index, option in enumerate(options):
        if "(Recommended)" in option["label"]:
            return {"action": "select", "optionIndex": index}, "the recommended option"
    return {"action": "type", "text": TYPED}, "no option fits, so in its own words"


def decide_on(kind: str) -> tuple[dict[str, Any], str]:
    """Return the decision on what is no question, and why: the demo asks for nothing that should be refused."""
    if kind == "plan":
        return {"action": "approve"}, "each step can be checked"
    return {"action": "allow"}, "it stays within the project"


def _run(arguments: list[str], stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*script_argv(), *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _answer(wake: Mapping[str, Any]) -> dict[str, Any]:
    listed = _run(["questions", "--json"])
    waiting = _parsed(listed.stdout) or []
    if isinstance(waiting, dict):
        waiting = waiting.get("questions", [])
    form = next((entry for entry in waiting if entry["tool_use_id"] == wake["tool_use_id"]), None)
    if form is None:
        return {"error": f"hookrouter questions does not list it (exit {listed.returncode}): {listed.stderr.strip()}"}
    asks = form["kind"] == "question"
    chosen = [decide(question) for question in form["questions"]] if asks else [decide_on(form["kind"])]
    decisions = [decision for decision, _ in chosen]
    options = ["--session", wake["session"], "--tool-use-id", wake["tool_use_id"], "--wait", "20"]
    done = _run(["answer", *options, "--json", "--file", "-"], json.dumps(decisions))
    return {
        "decisions": decisions,
        "reasons": [reason for _, reason in chosen],
        "exit": done.returncode,
        "answer": _parsed(done.stdout),
        "stderr": done.stderr.strip(),
    }


def main(arguments: list[str]) -> int:
    """Handle one message; exit 0 even if the answer failed, which the log then says."""
    wake = json.load(sys.stdin)
    record = {"wake": wake, **(_answer(wake) if wake["kind"] == "question" else {})}
    handle = os.open(arguments[0], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, json.dumps(record).encode() + b"\n")
    finally:
        os.close(handle)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
