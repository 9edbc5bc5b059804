#!/usr/bin/env python3
"""Record a home: ``record.py HOOKROUTER FOLDER [--postgresql]`` runs that program with made-up payloads.

FOLDER becomes the home that it leaves. In it are ``told.json``, what that program tells of it, and ``dump.sql`` if its
documents are in PostgreSQL. Nothing stands in for
a client or a terminal, and the gateway is down. README.md says what each session leaves.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from support.postgres import Server, postgres_server, programs

SESSIONS = {letter: f"{letter * 8}-0000-4000-8000-00000000000{number}" for number, letter in enumerate("abcdef", 1)}
FORM = [
    {
        "question": "Which framework?",
        "header": "Framework",
        "options": [{"label": "React", "description": "Popular"}, {"label": "Vue", "description": "Light"}],
        "multiSelect": False,
    }
]
CONFIG = """\
[[agents]]
id = "night-shift"
sessions = ["*"]
gateway = "down"

[answer]
channels = ["reply"]
remind_after = 600
reminders = 1
escalate_after = 3600
escalate_to = "person"

[[approvals.rules]]
tool = "Bash"
decide = "agent"

[[approvals.rules]]
tool = "ExitPlanMode"
decide = "agent"

[gateways.down]
type = "webhook"
url = "http://127.0.0.1:9/wake"

[gateways.person]
type = "inbox"
"""
STORAGE = """
[storage]
engine = "postgresql"
machine = "one"
dsn_env = "HOOKS_DATABASE"
schema = "recorded"
"""


class Recording:
    def __init__(self, program: str, home: Path, server: Server | None) -> None:
        self._program = program
        self._home = home
        self._environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(home),
            "HOOKROUTER_HOME": str(home),
            "HOOKS_DATABASE": "" if server is None else server.dsn(),
        }

    def start(self, *words: str, given: object = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [self._program, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environ,
            cwd=self._home,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(given))
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, *words: str, code: int = 0, given: object = None) -> str:
        process = self.start(*words, given=given)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == code, (words, process.returncode, out)
        return out

    def payload(self, session: str, event: str, **fields: object) -> dict[str, Any]:
        common = {"session_id": SESSIONS[session], "transcript_path": "", "cwd": "/work", "permission_mode": "default"}
        return {**common, "hook_event_name": event, **fields}

    def hook(self, session: str, event: str, **fields: object) -> str:
        return self.run("run", event, given=self.payload(session, event, **fields))

    def ask(self, session: str, identifier: str) -> None:
        fields = {"tool_name": "AskUserQuestion", "tool_use_id": identifier, "tool_input": {"questions": FORM}}
        self.hook(session, "PreToolUse", **fields)

    def end(self, session: str, identifier: str, answer: str) -> None:
        response = {"questions": FORM, "answers": {FORM[0]["question"]: answer}, "annotations": {}}
        fields = {"tool_name": "AskUserQuestion", "tool_use_id": identifier, "tool_input": {"questions": FORM}}
        self.hook(session, "PostToolUse", **fields, tool_response=response)

    def reply(self, session: str, identifier: str, option: int, code: int) -> None:
        """Answer through the hook that waits beside the dialog."""
        fields = {"tool_name": "AskUserQuestion", "tool_input": {"questions": FORM}}
        waiting = self.start("run", "PermissionRequest", given=self.payload(session, "PermissionRequest", **fields))
        decisions = json.dumps([{"action": "select", "optionIndex": option}])
        self.run("answer", "--tool-use-id", identifier, "--wait", "0", "--as", "agent", decisions, code=code)
        assert waiting.wait(60) == 0

    def request(self, session: str, identifier: str, tool: str, **given: str) -> None:
        """Leave the permission of a call open: its hook is killed while it waits."""
        fields = {"tool_name": tool, "tool_input": given}
        self.hook(session, "PreToolUse", **fields, tool_use_id=identifier)
        before = len(self.open())
        waiting = self.start("run", "PermissionRequest", given=self.payload(session, "PermissionRequest", **fields))
        while len(self.open()) == before:
            assert waiting.poll() is None, "the hook left it to the terminal"
            time.sleep(0.2)
        waiting.kill()
        waiting.wait()

    def open(self) -> list[Any]:
        found: list[Any] = json.loads(self.run("questions", "--json"))["questions"]
        return found

    def close(self) -> None:
        """Kill what it has started and left behind."""
        wanted = f"HOOKROUTER_HOME={self._home}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                continue


def record(at: Recording) -> None:
    for session in SESSIONS:
        at.hook(session, "SessionStart", source="startup", model="claude-opus")
    at.hook("a", "UserPromptSubmit", prompt="begin", prompt_id="prompt-1")
    at.ask("a", "toolu_a1")
    at.ask("a", "toolu_a2")

    at.ask("b", "toolu_b1")
    at.reply("b", "toolu_b1", 1, code=0)
    at.end("b", "toolu_b1", "Vue")
    at.ask("b", "toolu_b2")
    at.reply("b", "toolu_b2", 1, code=0)
    at.end("b", "toolu_b2", "React")
    at.ask("b", "toolu_b3")
    at.end("b", "toolu_b3", "React")

    at.ask("c", "toolu_c1")
    at.hook("c", "Stop", stop_hook_active=False, last_assistant_message="Done.")

    at.ask("d", "toolu_d1")
    at.reply("d", "toolu_d1", 0, code=0)

    at.request("e", "toolu_e1", "Bash", command="make test")
    at.request("e", "toolu_e2", "ExitPlanMode", plan="# Plan\n1. x\n", planFilePath="/work/plan.md")

    at.hook("f", "UserPromptSubmit", prompt="work", prompt_id="prompt-2")
    at.run("send", "--session", "claude-ffffffff", "--as", "agent", "run the tests", "/clear", "!ls\nsecond line")
    dropped = json.loads(at.run("send", "--session", "claude-ffffffff", "--as", "agent", "--json", "dropped"))
    at.run("queue", "drop", dropped["items"][0]["id"])
    at.run("queue", "hold", "--session", "claude-ffffffff")
    at.run("pause", "--session", "claude-ffffffff")
    at.ask("f", "toolu_f1")


TOLD = (("questions",), ("history",), ("queue", "list"), ("sessions",))


def dump(server: Server) -> str:
    bin_folder = programs()
    assert bin_folder is not None
    words = ["--schema", "recorded", "--inserts", "--rows-per-insert", "100", "--no-owner", "--no-privileges"]
    done = subprocess.run(
        [str(bin_folder / "pg_dump"), *words, server.dsn()], capture_output=True, text=True, check=True
    )
    # What psql alone understands, and what only takes place.
    lines = (line for line in done.stdout.splitlines() if not line.startswith(("\\", "--", "SET ")))
    return re.sub(r"\n{2,}", "\n", "\n".join(lines)).lstrip()


def main(program: str, folder: Path, *, postgresql: bool) -> None:
    home = Path(tempfile.mkdtemp(prefix="recorded-"))
    with postgres_server() if postgresql else nullcontext() as server:
        recording = Recording(program, home, server)
        (home / "config.toml").write_text(CONFIG + (STORAGE if postgresql else ""))
        try:
            if server is not None:
                recording.run("storage", "init")
            record(recording)
            if server is not None:
                deadline = time.monotonic() + 60
                while server.ask("SELECT count(*) FROM recorded.story WHERE outcome <> 'open'") != [(4,)]:
                    assert time.monotonic() < deadline, server.ask("SELECT key, outcome, story FROM recorded.story")
                    time.sleep(0.5)
            recording.close()
            told = {" ".join(words): json.loads(recording.run(*words, "--json")) for words in TOLD}
            (home / "told.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        finally:
            recording.close()
        if server is not None:
            (home / "dump.sql").write_text(dump(server))
    host = re.compile(r'("(?:client_)?host": ?")[^"]*')
    for file in [path for path in home.rglob("*") if path.is_file()]:
        if not (text := file.read_text()).strip() or file.suffix not in (".json", ".jsonl", ".toml", ".sql"):
            file.unlink()
            continue
        file.write_text(host.sub(r"\1machine", text.replace(program, "hookrouter").replace(str(home), "/home/u")))
    for path in sorted(home.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    shutil.rmtree(home / "cache", ignore_errors=True)
    shutil.copytree(home, folder)
    shutil.rmtree(home)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), postgresql="--postgresql" in sys.argv)
