"""The sample agents in ``examples/agents``: what they decide and say, and the whole loop on the client's stand-in."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.program import script_argv
from support.code_lines import code_lines
from support.manual import blocks
from support.sample_agents import FOLDER, FORMS, README, SESSION, Asking, ScriptedLLM, load, readme_config, right

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter._sandbox.tmux_server import PrivateTmux

rules, ask_llm = load("rules"), load("ask_llm")

GIVEN_UP = 65
"""``EX_DATAERR``: the next gateway is asked at once."""
TRY_AGAIN = 75

ANSWER = """\
import json, os, sys
folder, codes = sys.argv[1], json.loads(sys.argv[2])
with open(os.path.join(folder, "decisions.jsonl"), "a+") as file:
    file.seek(0)
    number = len(file.readlines())
    file.write(sys.stdin.read() + chr(10))
print(json.dumps({"reason": f"reason {number}"}))
sys.exit(codes[min(number, len(codes) - 1)])
"""
"""Stands in for ``hookrouter answer``: keeps what it is given, and ends with one exit code after the other."""


class Place:
    """A folder for one sample agent that is called directly, as the gateway calls it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.llm = ScriptedLLM(folder)
        (folder / "answer.py").write_text(ANSWER)

    def message(self, form: str = "single", codes: Sequence[int] = (0,), **changed: object) -> str:
        data = {
            "questions": FORMS[form],
            "command": [sys.executable, str(self.folder / "answer.py"), str(self.folder), json.dumps(codes)],
            "answer_schema": {"type": "array"},
            "context": {"last_prompt": "build it", "last_words": "half \ud800 of a pair"},
        }
        return json.dumps({"kind": "question", "data": data, **changed})

    def run(self, name: str, message: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, str(FOLDER / name), *arguments]
        return subprocess.run(argv, input=message, capture_output=True, text=True, timeout=60, check=False)

    def ask(self, message: str) -> subprocess.CompletedProcess[str]:
        return self.run("ask_llm.py", message, *self.llm.argv)

    @property
    def decisions(self) -> list[Any]:
        file = self.folder / "decisions.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


CODES = [(0, 0), (2, GIVEN_UP), (3, 0), (4, TRY_AGAIN), (5, TRY_AGAIN), (130, TRY_AGAIN)]


@pytest.mark.parametrize("form", ["single", "multi", "four"])
def test_rules_decide(form: str, place: Place) -> None:
    assert place.run("rules.py", place.message(form)).returncode == 0
    assert place.decisions == [right(form)]


@pytest.mark.parametrize("form", ["dangerous", "undecided"])
def test_what_no_rule_decides_is_handed_on(form: str, place: Place) -> None:
    done = place.run("rules.py", place.message(form))
    assert (done.returncode, done.stderr) == (GIVEN_UP, "no rule decides this\n")
    assert place.decisions == []


@pytest.mark.parametrize(
    ("labels", "multi", "decided"),
    [
        (["Dropdown (Recommended)", "List"], False, None),
        (["Backdrop (Recommended)", "List"], False, 0),
        (["Yesterday", "Today"], False, None),
        (["Yes", "No (Recommended)"], False, 1),
        (["Do it later", "None of these"], True, None),
        (["Noneuclidean", "Skip"], True, [0]),
    ],
)
def test_a_rule_looks_for_words(labels: list[str], multi: bool, decided: object) -> None:
    question = {"question": "Which?", "multiSelect": multi, "options": [{"label": label} for label in labels]}
    found = rules.decide(question)
    assert decided == (found and found.get("selectedIndices", found.get("optionIndex")))


@pytest.mark.parametrize(("code", "ends_with"), CODES)
def test_the_rules_tell_what_became_of_the_answer(code: int, ends_with: int, place: Place) -> None:
    assert place.run("rules.py", place.message(codes=[code])).returncode == ends_with


@pytest.mark.parametrize("name", ["rules.py", "ask_llm.py"])
@pytest.mark.parametrize(
    ("kind", "data", "ends_with"),
    [("test", {}, 0), ("unanswered", {}, GIVEN_UP), ("of-tomorrow", {}, GIVEN_UP), ("question", {}, GIVEN_UP)],
)
def test_other_messages_are_for_people(name: str, kind: str, data: object, ends_with: int, place: Place) -> None:
    message = json.dumps({"kind": kind, "data": data})
    assert place.run(name, message, *(place.llm.argv if name == "ask_llm.py" else [])).returncode == ends_with
    assert place.llm.prompts == []


def test_the_rules_have_about_thirty_lines() -> None:
    assert len(code_lines((FOLDER / "rules.py").read_text())) <= 34


def test_the_llm_gets_form_context_and_schema(place: Place) -> None:
    place.llm.will_say(right("four"))
    assert place.ask(place.message("four")).returncode == 0
    assert place.decisions == [right("four")]
    [prompt] = place.llm.prompts
    shown = json.loads(prompt[prompt.index("\n{") :])
    assert shown["questions"] == FORMS["four"]
    assert shown["answer_schema"] == {"type": "array"}
    assert shown["context"]["last_prompt"] == "build it"


def test_a_reminder_is_handed_on_and_an_escalation_decided(place: Place) -> None:
    place.llm.will_say(right("single"))
    assert place.ask(place.message(kind="reminder")).returncode == GIVEN_UP
    assert place.llm.prompts == []
    assert place.ask(place.message(kind="escalation")).returncode == 0


@pytest.mark.parametrize("wrong", ["I take the first.", '{"action": "select"}', "```json\n[1\n```", "[" * 100_000])
def test_a_wrong_reply_is_asked_again_with_the_error(wrong: str, place: Place) -> None:
    place.llm.will_say(wrong, f"Sorry.\n```json\n{json.dumps(right('single'))}\n```\nThat is it.")
    done = place.ask(place.message())
    assert done.returncode == 0, done.stderr
    assert place.decisions == [right("single")]
    first, second = place.llm.prompts
    assert second.startswith(first)
    assert wrong[:2000] in second
    assert "That cannot be used: it is no JSON" in second


def test_what_answer_refuses_is_asked_again_with_its_reason(place: Place) -> None:
    place.llm.will_say([{"action": "select", "optionIndex": 9}], right("single"))
    assert place.ask(place.message(codes=[2, 0])).returncode == 0
    assert place.decisions == [[{"action": "select", "optionIndex": 9}], right("single")]
    assert "That cannot be used: reason 0\n" in place.llm.prompts[1]


@pytest.mark.parametrize(
    ("reply", "asked"), [("Whatever.", 2), ("null", 1), ("x" * 300_000, 1)], ids=["words", "null", "too long"]
)
def test_what_the_llm_cannot_decide_is_handed_on(reply: str, asked: int, place: Place) -> None:
    place.llm.will_say(reply)
    done = place.ask(place.message())
    assert done.returncode == GIVEN_UP
    assert (len(place.llm.prompts), place.decisions) == (asked, [])
    assert done.stderr.count("\n") == 1


def test_always_refused_is_handed_on(place: Place) -> None:
    place.llm.will_say(right("single"))
    done = place.ask(place.message(codes=[2]))
    assert (done.returncode, done.stderr) == (GIVEN_UP, "the LLM's reply is wrong, 2 times: reason 1\n")


@pytest.mark.parametrize(("code", "ends_with"), CODES)
def test_the_llm_agent_tells_what_became_of_the_answer(code: int, ends_with: int, place: Place) -> None:
    place.llm.will_say(right("single"))
    assert place.ask(place.message(codes=[code])).returncode == ends_with


def test_an_answer_that_cannot_be_called_is_tried_again(place: Place) -> None:
    place.llm.will_say(right("single"))
    message = json.loads(place.message())
    message["data"]["command"] = [*script_argv(), "answer", "--no-such-option"]
    assert place.ask(json.dumps(message)).returncode == TRY_AGAIN


@pytest.mark.parametrize(
    ("arguments", "ends_with", "said"),
    [
        ([], os.EX_USAGE, "which program is to be asked?"),
        (["--seconds=soon", "x"], os.EX_USAGE, "invalid float value: 'soon'"),
        (["/no/such/program"], os.EX_CONFIG, "/no/such/program: No such file or directory"),
        ([sys.executable, "-c", "raise SystemExit(3)"], TRY_AGAIN, f"{sys.executable} ended with 3"),
    ],
)
def test_a_program_that_fails(arguments: list[str], ends_with: int, said: str, place: Place) -> None:
    done = place.run("ask_llm.py", place.message(), *arguments)
    assert done.returncode == ends_with
    assert said in done.stderr
    assert place.decisions == []


FAMILY = """\
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".part", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""
"""An LLM that never replies, does not heed SIGTERM, and has a child."""


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize(("seconds", "ends_with"), [("1", GIVEN_UP), ("600", TRY_AGAIN), ("600", -signal.SIGKILL)])
def test_a_slow_llm_is_killed_with_all_that_it_started(seconds: str, ends_with: int, place: Place) -> None:
    pids = place.folder / "pids"
    argv = [sys.executable, str(FOLDER / "ask_llm.py"), "--seconds", seconds, sys.executable, "-c", FAMILY, str(pids)]
    message = place.folder / "message.json"
    message.write_text(place.message())
    with message.open() as stdin:
        process = subprocess.Popen(argv, stdin=stdin, stderr=subprocess.PIPE, text=True)
    try:
        if ends_with != GIVEN_UP:
            wait_until(pids.exists, 30, "the LLM's child")
            process.send_signal(signal.SIGTERM if ends_with == TRY_AGAIN else signal.SIGKILL)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == ends_with, said
    family = pids.read_text().split() if pids.exists() else []
    wait_until(lambda: not any(map(alive, family)), 30, "the end of the LLM and its child")
    assert place.decisions == []


WORDS = st.text(st.characters(exclude_characters="`", exclude_categories=["Cs"]), max_size=30)
ARRAYS = st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9) | st.none(), max_size=3))


@given(ARRAYS, st.sampled_from([None, 1]))
def test_an_array_is_read_alone(decisions: list[Any], indent: int | None) -> None:
    assert ask_llm.parse(f"\n {json.dumps(decisions, indent=indent)}\n") == decisions


@given(WORDS, ARRAYS, st.sampled_from(["", "json"]), WORDS)
def test_an_array_is_read_from_the_first_fenced_block(before: str, decisions: Any, language: str, after: str) -> None:
    said = f"{before}\n```{language}\n{json.dumps(decisions)}\n```\n{after}\n```\n[1]\n```\n"
    assert ask_llm.parse(said) == decisions


@given(st.text(max_size=200))
def test_whatever_an_llm_says_is_decisions_or_wrong(said: str) -> None:
    try:
        found = ask_llm.parse(said)
    except (ask_llm.WrongReply, ask_llm.Handover):
        return
    assert isinstance(found, list)


def test_the_longer_one_is_typed(tmp_path: Path) -> None:
    options = ["--strict", "--cache-dir", str(tmp_path), str(FOLDER / "ask_llm.py")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


CONFIGURATIONS = [block.text for block in blocks(README, "toml")] + [(FOLDER / "openclaw" / "config.toml").read_text()]


@pytest.mark.parametrize("text", CONFIGURATIONS, ids=range(len(CONFIGURATIONS)))
def test_every_configuration_is_valid(text: str, hookrouter_home: Path) -> None:
    token = hookrouter_home / "token"
    token.write_text("secret")
    token.chmod(0o600)
    text = text.replace("~/agents/", f"{FOLDER}/").replace("~/.config/hookrouter/openclaw-token", str(token))
    (hookrouter_home / "config.toml").write_text(text)
    done = subprocess.run([*script_argv(), "config", "check", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    # Nothing is installed here.
    problems = [one for one in json.loads(done.stdout)["problems"] if "is not registered" not in one["message"]]
    assert problems == []


def test_all_is_executable() -> None:
    assert [name for name in ("rules.py", "ask_llm.py") if not os.access(FOLDER / name, os.X_OK)] == []


@contextlib.contextmanager
def _asking(stage: Stage, server: PrivateTmux) -> Iterator[Asking]:
    """Start a stand-in that asks the forms."""
    stage.record("PreToolUse", "PostToolUse")
    stage.install()
    with stage.stand_in({name: {"questions": form} for name, form in FORMS.items()}, server, session=SESSION) as client:
        yield Asking(stage, client)


@pytest.mark.tmux
def test_rules_answer_a_client_and_a_person_the_rest(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    stage = Stage(str(tmp_path), readme_config("rules"))
    with _asking(stage, tmux_server) as asking:
        for name in ("single", "multi", "four"):
            asking.is_answered(name)
        identifier = asking.is_handed_on("dangerous")
        asking.answer_as_person(identifier, {"action": "select", "optionIndex": 1})


@pytest.mark.tmux
def test_an_llm_answers_a_client_and_a_person_the_rest(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    llm = ScriptedLLM(tmp_path)
    stage = Stage(str(tmp_path), readme_config("llm", llm.argv))
    with _asking(stage, tmux_server) as asking:
        llm.will_say(right("four"))
        asking.is_answered("four")
        llm.will_say([{"action": "select", "optionIndex": 7}], right("single"))
        asking.is_answered("single")
        assert len(llm.prompts) == 2
        llm.will_say("I would rather not.")
        identifier = asking.is_handed_on("multi")
        assert len(llm.prompts) == 2
        asking.answer_as_person(identifier, *right("multi"))


@pytest.mark.tmux
def test_nothing_is_lost_if_the_agent_is_killed(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    """The first LLM kills its agent; the message comes again, and the second one is heard."""
    llm = ScriptedLLM(tmp_path)
    llm.will_say(right("single"))
    once = (
        "import os, signal, sys\n"
        "if not os.path.exists(sys.argv[1]):\n"
        "    open(sys.argv[1], 'w').close()\n"
        "    os.kill(os.getppid(), signal.SIGKILL)\n"
        "else:\n"
        "    os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    argv = [sys.executable, "-c", once, str(tmp_path / "killed"), *llm.argv]
    stage = Stage(str(tmp_path), readme_config("llm", argv))
    with _asking(stage, tmux_server) as asking:
        identifier = asking.is_answered("single")
        wait_until(lambda: len(asking.deliveries(identifier)) > 1, 30, "two tries")
    kept, delivered = asking.deliveries(identifier)
    assert "was killed by SIGKILL" in kept["reason"]
    assert delivered["outcome"] == "delivered"


@pytest.mark.tmux
def test_a_message_that_comes_twice_is_answered_once(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    twice = tmp_path / "twice.py"
    twice.write_text(
        "import subprocess, sys\n"
        "message = sys.stdin.read()\n"
        "codes = [subprocess.run(sys.argv[2:], input=message, text=True).returncode for _ in range(2)]\n"
        "open(sys.argv[1], 'w').write(repr(codes))\n"
    )
    codes = tmp_path / "codes"
    argv = json.dumps([sys.executable, str(twice), str(codes), str(FOLDER / "rules.py")])
    stage = Stage(str(tmp_path), readme_config("rules").replace(f'["{FOLDER}/rules.py"]', argv))
    with _asking(stage, tmux_server) as asking:
        identifier = asking.is_answered("single")
        wait_until(lambda: codes.exists() and codes.read_text(), 60, "both exit codes")
        assert codes.read_text() == f"[0, {TRY_AGAIN}]"
        wait_until(lambda: asking.deliveries(identifier), 30, "the delivery")
    assert len(stage.payloads("PostToolUse")) == 1
