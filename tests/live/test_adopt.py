"""Hooks of a settings file on the real client do the same before adopt, after it, and after ``--undo``."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash, write
from hookrouter._sandbox.stage import Stage
from support.matrix import mostly_long
from support.safety import safety

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.live

_VARIES = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    (r"toolu_[0-9a-f]+", "CALL"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"\ba[0-9a-f]{16}\b", "AGENT"),
    (r"(duration_ms(?:>|: ))\d+", r"\1N"),
    # The client names the command line that it has started.
    (r"""[^\["\n]*hookrouter run ([a-z-]+)|[^\["\n]*/hooks/([a-z-]+)""", r"COMMAND \1\2"),
    # The same words in another frame: what hookrouter says is always JSON. Of a refused end the client then tells the
    # reason a second time, as it does of every hook's JSON.
    (r"^(\w+)(?::\w+)? hook success: ", r"\1 hook additional context: "),
    (r"^(?:Subagent)?Stop hook blocking error from command: .*\n*", ""),
    # A compaction has no message of a hook that failed: the journal has it.
    (r"(COMMAND (?:pre|post)-compact\]) failed: [^<\n]*", r"\1 completed successfully"),
]
"""What differs from one session to the next, as expressions with what takes its place."""


class Seen(NamedTuple):
    """What came of a session."""

    model: list[str]
    """What each request told the model."""
    person: list[str]
    """What a person was shown of hooks, and of commands."""
    called: list[str]
    """The events of which hooks were told."""


class Play:
    """A place with hooks in a settings.json, and sessions in it that all say the same."""

    def __init__(self, folder: Path, hooks: Mapping[str, tuple[str | None, str]], **settings: Any) -> None:
        """Write settings with ``hooks``: for each event the matcher, and what its script does."""
        self.stage = Stage(str(folder))
        self.folder = Path(self.stage.folder)
        self.project = Path(self.stage.client_home.project)
        self.settings = Path(self.stage.client_home.settings_file)
        self.log, self.hooks = self.folder / "log", self.folder / "hooks"
        self.hooks.mkdir()
        groups: dict[str, list[dict[str, Any]]] = {}
        for event, (matcher, text) in hooks.items():
            file = self.hooks / re.sub(r"(?<!^)(?=[A-Z])", "-", event).lower()
            file.write_text(f"#!/bin/sh\npayload=$(cat)\necho {event} >> {self.log}\n{text}\n")
            file.chmod(0o755)
            entry = {"hooks": [{"type": "command", "command": str(file), "timeout": 20}]}
            groups[event] = [{**({} if matcher is None else {"matcher": matcher}), **entry}]
        # As people write it: what is not JSON's own way must come back, too.
        text = json.dumps({**settings, "hooks": groups}, indent=3) + "\n\n"
        self.settings.write_text(text.replace('"hooks": {', '"hooks" : {', 1))

    def run(self, *words: str) -> str:
        done = self.stage.run(*words, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def adopt(self, *options: str) -> Any:
        return json.loads(self.run("adopt", "--settings", str(self.settings), "--json", *options))

    def session(self, scripts: Mapping[str, Any], *prompts: str) -> Seen:
        """Say prompts to a new client, each when the turn before it has ended."""
        program = find_client()
        assert program is not None
        self.log.unlink(missing_ok=True)
        words = ["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
        with ScriptedModel(scripts) as model:
            environ = {**self.stage.environ, **self.stage.client_home.environ(model)}
            with subprocess.Popen(
                [program, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self.project,
                env=environ,
                text=True,
            ) as client:
                assert client.stdin is not None
                assert client.stdout is not None
                lines = []
                for prompt in prompts:
                    said = {"type": "user", "message": {"role": "user", "content": prompt}}
                    client.stdin.write(json.dumps(said) + "\n")
                    client.stdin.flush()
                    for line in client.stdout:
                        lines.append(json.loads(line))
                        if lines[-1]["type"] == "result":
                            break
                    else:
                        pytest.fail(f"the client ended: {lines[-3:]}")
                client.stdin.close()
                lines += [json.loads(line) for line in client.stdout]
            requests = sorted(
                "\n".join(filter(None, (self._plain(text) for one in request.body["messages"] for text in _texts(one))))
                for request in model.requests
            )
        return Seen(requests, [text for line in lines if (text := self._shown(line))], self.log.read_text().split())

    def _shown(self, line: Mapping[str, Any]) -> str:
        if line.get("subtype") == "informational":
            return self._plain(line["content"])
        content = line.get("message", {}).get("content") if line["type"] == "user" else None
        return self._plain(content) if isinstance(content, str) else ""

    def _plain(self, text: str) -> str:
        for pattern, stands in _VARIES:
            text = re.sub(pattern, stands, text, flags=re.MULTILINE)
        return text.strip()


def _texts(message: Mapping[str, Any]) -> list[str]:
    """Return what a message, or a part of it, says to the model."""
    content = message.get("content", message.get("text", ""))
    if isinstance(content, str):
        return [content]
    return [text for part in content for text in _texts(part)]


GUARD = """
case "$payload" in *'rm -rf'*) echo "not on this machine" >&2; exit 2;; esac
"""
FORMATTER = """
file=$(printf '%s' "$payload" | sed 's/.*"file_path":"\\([^"]*\\)".*/\\1/')
echo "# formatted" >> "$file"
"""
CONTEXT = 'echo "the branch is main, told by $CLAUDE_PROJECT_DIR"'


def test_three_hooks_do_the_same_before_adopt_after_it_and_after_undo(tmp_path: Path) -> None:
    hooks = {
        "PreToolUse": ("Bash", GUARD),
        "PostToolUse": ("Write|Edit", FORMATTER),
        "UserPromptSubmit": (None, CONTEXT),
    }
    play = Play(tmp_path, hooks, permissions={"allow": ["Bash", "Write"]})
    before = play.settings.read_bytes()
    kept, note = play.project / "kept", play.project / "note"
    calls = [bash(f"rm -rf {kept}"), bash("echo made"), write(str(note), "one\n")]

    def work() -> Seen:
        note.unlink(missing_ok=True)
        kept.mkdir(exist_ok=True)
        seen = play.session({"work": calls}, "please RUN work")
        with safety("a guard refuses what it is for"):
            assert kept.exists()
        assert note.read_text() == "one\n# formatted\n"
        assert "not on this machine" in seen.model[-1]
        assert "the branch is main, told by" in seen.model[-1]
        return seen

    native = work()
    assert [one["event"] for one in play.adopt()["hooks"]] == list(hooks)
    assert str(play.hooks) not in play.settings.read_text()
    assert work() == native
    assert play.adopt("--undo")["exact"]
    assert play.settings.read_bytes() == before
    assert work() == native

    # One of them is set to fail closed, and broken.
    play.adopt()
    config = Path(play.stage.home.config_file)
    text = config.read_text().replace('event = "PreToolUse"', 'event = "PreToolUse"\non_error = "closed"')
    config.write_text(text)
    play.run("config", "check")
    (play.hooks / "pre-tool-use").write_text("#!/no/such/shell\n")
    seen = play.session({"work": calls[:2]}, "please RUN work")
    with safety("a guard that fails closed lets no call by"):
        assert kept.exists()
        assert "it is set to fail closed, so this is refused" in seen.model[-1]
        assert '"made"' not in seen.model[-1]


EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
)

# What stops something does so for what is named so, or once.
_FORBIDS = """
case "$payload" in *'"stop_hook_active":true'*) exit 0;; esac
case {event} in UserPromptSubmit|PreToolUse)
  case "$payload" in *forbidden*) ;; *) exit 0;; esac;;
esac
"""
_OWN = {
    "SessionStart": '"additionalContext":"context at the start","sessionTitle":"a title"',
    "UserPromptSubmit": '"additionalContext":"context of the prompt"',
    "PreToolUse": '"additionalContext":"context before","permissionDecision":"deny","permissionDecisionReason":"why"',
    "PermissionRequest": '"decision":{"behavior":"allow","updatedInput":{"command":"mkdir -p granted"}}',
    "PostToolUse": '"additionalContext":"context after"',
    "PostToolUseFailure": '"additionalContext":"context of the failure"',
    "SubagentStart": '"additionalContext":"context of the agent"',
    "Stop": '"additionalContext":"context of the end"',
}

FORMS = {
    "plain": "echo plain words of {event}",
    "json": _FORBIDS + 'cat <<\'END\'\n{{"systemMessage":"shown by {event}"{own}}}\nEND',
    "block": _FORBIDS + 'echo \'{{"decision":"block","reason":"blocked by {event}"}}\'',
    "exit 2": _FORBIDS + "echo out of {event}; echo err of {event} >&2; exit 2",
    "exit 1": "echo out of {event}; echo err of {event} >&2; exit 1",
    "broken": "echo '{{\"decision\":'",
}


def _text(form: str, event: str) -> str:
    own = f',"hookSpecificOutput":{{"hookEventName":"{event}",{_OWN[event]}}}' if event in _OWN else ""
    return FORMS[form].format(event=event, own=own)


@pytest.mark.parametrize("form", mostly_long(FORMS, "json", "exit 2"))
def test_what_a_hook_says_is_read_alike_at_every_event(form: str, tmp_path: Path) -> None:
    hooks = {event: (None, _text(form, event)) for event in EVENTS}
    play = Play(tmp_path, hooks, permissions={"allow": ["Bash(echo:*)", "Bash(false:*)", "Agent"]})
    scripts = {
        "work": [
            bash("echo forbidden"),
            bash("echo one"),
            bash("false"),
            bash("mkdir asked"),
            ToolUse(
                "Agent",
                {
                    "description": "help",
                    "prompt": "RUN help",
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                },
            ),
        ],
        "help": [bash("echo helping")],
    }

    def work() -> Seen:
        return play.session(scripts, "a forbidden prompt", "please RUN work", "/compact", "and on")

    native = work()
    if form in ("plain", "json"):
        assert set(native.called) == set(EVENTS)
    play.adopt()
    adopted = work()
    assert adopted.model == native.model
    assert adopted.called == native.called
    if form in ("plain", "json", "block", "exit 2"):
        assert adopted.person == native.person
