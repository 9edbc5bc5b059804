#!/usr/bin/env python3
"""Answers Claude's questions by rules: the program of a hookrouter gateway with ``format = "json"``.

If no rule fits, it exits with 65, and the next of the agent's ``gateways``, a person's, gets the message.
"""

import json
import os
import re
import subprocess
import sys

FOR_A_PERSON = re.compile(r"\b(delet|drop|forc|overwrit|production|password|secret|deploy|publish|pay)")
NOT_NOW = re.compile(r"\b(later|not now|skip|none|out of scope)\b")
CHOSEN = (re.compile(r"\(recommended\)"), re.compile(r"^yes\b"))  # the first rule that fits an option decides


def decide(question):
    """Return the decision for one question of a form; None if a person has to decide."""
    texts = [f"{option['label']} {option.get('description') or ''}".lower() for option in question["options"]]
    if any(map(FOR_A_PERSON.search, [question["question"].lower(), *texts])):
        return None
    if question.get("multiSelect"):
        wanted = [index for index, text in enumerate(texts) if not NOT_NOW.search(text)]
        return {"action": "multi-select", "selectedIndices": wanted} if wanted else None
    fitting = [index for rule in CHOSEN for index, text in enumerate(texts) if rule.search(text)]
    return {"action": "select", "optionIndex": fitting[0]} if fitting else None


def main():
    """Decide on the message on stdin, and answer; return the exit code, which tells hookrouter what became of it."""
    message = json.load(sys.stdin)
    if message["kind"] == "test":
        return os.EX_OK
    data = message["data"]
    decisions = [decide(question) for question in data.get("questions", [])]
    if not data.get("command") or None in decisions:
        print("no rule decides this", file=sys.stderr)
        return os.EX_DATAERR
    done = subprocess.run([*data["command"], "--wait=60"], input=json.dumps(decisions), text=True)
    return {0: os.EX_OK, 2: os.EX_DATAERR, 3: os.EX_OK}.get(done.returncode, os.EX_TEMPFAIL)


if __name__ == "__main__":
    sys.exit(main())
