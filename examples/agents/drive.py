#!/usr/bin/env python3
"""Drives a session through the steps of a plan: the program of a hookrouter gateway with ``format = "json"``.

When a turn has ended it sends the commands that Claude suggests, if they belong to the plan. It answers on the way:
questions by ``rules.py``, permissions for harmless commands. All else is left to the next of the agent's ``gateways``.
"""

import json
import os
import re
import subprocess
import sys

import rules

PLAN = re.compile(r"/(clear|gsd:(discuss-phase|plan-phase|execute-phase|verify-work)( [0-9.]+)?)")
HARMLESS = re.compile(r"(ls|pwd|true|git (status|diff|log)|python -m pytest|npm (test|run lint))( [\w./=-]+)*")
FULL = 60  # percent of the context, from which on a step begins with /clear


def next_commands(data):
    """Return what to send after a turn; nothing if the plan is done, None if a person has to look."""
    suggested = [one["text"] for one in data["suggestions"]]
    if not suggested:
        return [] if "complete" in data["message"] else None
    if not all(PLAN.fullmatch(text) for text in suggested):
        return None
    used = data["context"]["used"]
    is_full = used is not None and (used["percent"] or 0) >= FULL
    return ["/clear", *suggested] if is_full and "/clear" not in suggested else suggested


def decision(data):
    """Return the decisions on what stops the session; None if a person has to decide."""
    if data["dialog"] == "question":
        found = [rules.decide(question) for question in data["questions"]]
        return None if None in found else found
    command = data["request"].get("input", {}).get("command", "")
    if data["dialog"] == "permission" and HARMLESS.fullmatch(command):
        return [{"action": "allow"}]
    return None


def run(words, given=""):
    """Run a command of hookrouter; return its exit code."""
    return subprocess.run(words, input=given, text=True).returncode


def main():
    """Act on the message on stdin; return the exit code, which tells hookrouter what became of it."""
    message = json.load(sys.stdin)
    kind, data = message["kind"], message["data"]
    if kind in ("question", "reminder"):  # permissions, plans and forms are questions, too
        decisions = decision(data)
        if decisions is None:
            return os.EX_DATAERR
        code = run([*data["command"], "--wait=60"], json.dumps(decisions))
        return os.EX_OK if code in (0, 3) else os.EX_TEMPFAIL
    if kind in ("turn_ended", "queue_done"):
        commands = next_commands(data)
        if not commands:
            return os.EX_OK if commands is not None else os.EX_DATAERR
        return os.EX_OK if run([*data["commands"]["send"], "--", *commands]) == 0 else os.EX_TEMPFAIL
    if kind in ("limited", "failed") and data["until"]:
        return os.EX_OK  # the queue goes on by itself
    return os.EX_OK if kind == "test" else os.EX_DATAERR


if __name__ == "__main__":
    sys.exit(main())
