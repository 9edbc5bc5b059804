"""The sample agents in ``examples/agents`` on the real client, with scripted models; the OpenClaw gateway is real."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from support.openclaw import OpenClaw, find_openclaw
from support.sample_agents import FOLDER, FORMS, SESSION, Asking, ScriptedLLM, readme_config, right
from support.scripted_chat import Call, Chat, ScriptedChat, Words
from support.tested_client import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrouter._sandbox.scripted_model import Reply
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

PATIENCE = 120.0


@contextlib.contextmanager
def _asking(stage: Stage, server: PrivateTmux) -> Iterator[Asking]:
    """Start a client that asks the forms."""
    program = find_client()
    assert program is not None
    stage.record("PreToolUse", "PostToolUse")
    stage.install()
    script = {name: ask({"questions": form}) for name, form in FORMS.items()}
    with ScriptedModel(script) as model, stage.client(program, server, model, session=SESSION) as client:
        yield Asking(stage, client, PATIENCE)


@pytest.mark.long
def test_rules_answer_the_client_and_a_person_the_rest(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    stage = Stage(str(tmp_path), readme_config("rules"))
    with _asking(stage, tmux_server) as asking:
        for name in ("single", "multi", "four"):
            asking.is_answered(name)
        identifier = asking.is_handed_on("dangerous")
        asking.answer_as_person(identifier, {"action": "select", "optionIndex": 1})


def test_an_llm_answers_the_client_and_a_person_the_rest(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    llm = ScriptedLLM(tmp_path)
    stage = Stage(str(tmp_path), readme_config("llm", llm.argv))
    with _asking(stage, tmux_server) as asking:
        for name in ("single", "multi", "four"):
            llm.will_say(right(name))
            asking.is_answered(name)
        llm.will_say("The second one.", right("four"))
        asking.is_answered("four")
        llm.will_say([{"action": "select", "optionIndex": 7}], right("single"))
        asking.is_answered("single")
        assert "That cannot be used: " in llm.prompts[1]
        llm.will_say([{"action": "select", "optionIndex": 0}])
        identifier = asking.is_handed_on("multi")
        assert len(llm.prompts) == 2
        asking.answer_as_person(identifier, *right("multi"))


class _Deciding(ScriptedModel):
    """A model that is asked to decide, without any tool."""

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        """Answer the prompt of the sample agent as its form's rules say."""
        if "You decide for a person who is away" not in json.dumps(body.get("messages")):
            return super().reply_to(body)
        return Say(f"```json\n{json.dumps(right('four'))}\n```")


def test_claude_itself_is_the_llm(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    """With the README's own command line, and no hook of the user's in it."""
    program = find_client()
    assert program is not None
    with _Deciding() as model:
        stage = Stage(str(tmp_path))
        config = readme_config("llm").replace('"claude"', json.dumps(program))
        if VERSION < (2, 1, 200):
            config = config.replace('"--safe-mode"', '"--setting-sources", ""')
        # All else, such as the key, is in the environment of the client's hooks.
        stage.configure(f'{config}set = {{ ANTHROPIC_BASE_URL = "{model.url}" }}\n')
        with _asking(stage, tmux_server) as asking:
            asking.is_answered("four")
        asked = [request.body for request in model.requests if "You decide for" in json.dumps(request.body)]
    assert asked
    assert not any(body.get("tools") for body in asked)
    sessions = {record.get("session_id") for record in stage.journal()} - {None}
    assert len(sessions) == 1


@pytest.mark.openclaw
@pytest.mark.xdist_group("openclaw")
@pytest.mark.long
def test_openclaw_answers_the_client(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    """With the sample's configuration on both sides, and the skill as it is installed."""
    installed = find_openclaw()
    assert installed is not None
    token = tmp_path / "openclaw-token"
    token.write_text(f"{OpenClaw.hook_token}\n")
    token.chmod(0o600)
    hooks = json.loads((FOLDER / "openclaw" / "openclaw.json").read_text())["hooks"]
    (tmp_path / "claw").mkdir()
    with ScriptedChat() as chat:
        chat.script = _follow_the_skill
        variables = {"HOOKROUTER_HOOK_TOKEN": OpenClaw.hook_token}
        with OpenClaw(installed, str(tmp_path / "claw"), chat.url, variables, hooks=hooks) as claw:
            config = (FOLDER / "openclaw" / "config.toml").read_text()
            config = config.replace("~/.config/hookrouter/openclaw-token", str(token))
            stage = Stage(str(tmp_path))
            stage.configure(config.replace('agent = "main"', f'agent = "main"\nurl = "{claw.url}"'))
            done = stage.run("skill", f"{claw.workspace}/skills", "--for", "openclaw", "--install")
            assert done.returncode == 0, done.stderr
            with _asking(stage, tmux_server) as asking:
                identifier = asking.is_answered("four")
    assert [one["gateway"] for one in asking.deliveries(identifier) if one["outcome"] == "delivered"] == ["claw"]
    assert "Answers what Claude Code sessions" in chat.turns(identifier)[0].system


def _follow_the_skill(chat: Chat) -> Words | Call:
    """Read the skill, list what waits, answer, and be silent."""
    skill = re.search(r"<location>([^<]*hookrouter/SKILL\.md)</location>", chat.system)
    if not chat.results:
        assert skill is not None, chat.system
        return Call("read", {"path": skill[1]})
    program = re.search(r"^\s*(\S.*) questions --json$", chat.results[0], re.MULTILINE)
    if program is None:
        return Words("NO_REPLY")
    if len(chat.results) == 1:
        return Call("exec", {"command": f"{program[1]} questions --json", "yieldMs": 60_000})
    if len(chat.results) == 2:
        [waiting] = json.loads(chat.results[1])["questions"]
        named = f"--session={waiting['session']} --tool-use-id={waiting['tool_use_id']}"
        decisions = json.dumps(right("four"))
        line = f"{program[1]} answer {named} --json --wait=60 --file - <<'DECISIONS'\n{decisions}\nDECISIONS"
        return Call("exec", {"command": line, "yieldMs": 120_000})
    return Words("NO_REPLY")
