"""What becomes of a config.toml that is there: every byte stays, but for what is asked for; or nothing happens."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hookrouter._config.edit import ConfigEditError, put
from hookrouter._setup.choices import ChoiceError, Words, choices_of
from hookrouter._setup.plan import Plan, guards_plan, make_plan
from hookrouter.cli.application import Application

THERE = """\
# mine
[[agents]]  # the first
id = "ops"
sessions = ["ops-*"]
gateway = "chat"

[gateways.chat]
type = "webhook"
url = "https://example.org/x"

[plugins.tmux]
timeout = 20 # slow machine
"""

OTHERS = f"""{THERE}
# all else
[[agents]]
id = "rest"

[answer]
escalate_to = "chat" # a person
wait = 60
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the programs be there that are asked for; none is started."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cat", "true"):
        folder.joinpath(name).touch(0o755)
    monkeypatch.setenv("PATH", str(folder))


def planned(home: Path, before: str | None, words: Words) -> Plan:
    if before is not None:
        (home / "config.toml").write_bytes(before.encode())
    return make_plan(Application.from_environ(), choices_of(words, str(home)))


def after(plan: Plan) -> str:
    assert plan.after is not None
    return plan.after.decode()


def test_an_agent_for_all_other_sessions_comes_last(hookrouter_home: Path) -> None:
    plan = planned(hookrouter_home, THERE, Words(command="cat", escalate_to="chat"))
    text = after(plan)
    assert text.startswith(THERE)
    config = tomllib.loads(text)
    assert [agent["id"] for agent in config["agents"]] == ["ops", "agent"]
    assert config["gateways"]["agent"]["argv"] == ["cat"]
    assert config["answer"] == {"escalate_to": "chat"}
    assert all(not line.startswith("-") for line in plan.diff().splitlines()[2:])


def test_an_agent_for_some_sessions_comes_first_and_only_what_is_asked_changes(hookrouter_home: Path) -> None:
    plan = planned(hookrouter_home, OTHERS, Words(command="cat", sessions=("work-*",), escalate_command="true"))
    text = after(plan)
    assert [agent["id"] for agent in tomllib.loads(text)["agents"]] == ["agent", "ops", "rest"]
    assert text.replace('escalate_to = "person"', 'escalate_to = "chat"').endswith(OTHERS.removeprefix("# mine\n"))
    removed = [line for line in plan.diff().splitlines()[2:] if line.startswith("-")]
    assert removed == ['-escalate_to = "chat" # a person']
    assert 'escalate_to = "person" # a person\n' in text


def test_line_ends_and_the_mark_of_an_editor_stay(hookrouter_home: Path) -> None:
    before = "\ufeff" + THERE.replace("\n", "\r\n")
    text = after(planned(hookrouter_home, before, Words(webhook="https://example.org/y")))
    assert text.startswith(before)
    assert text.count("\n") == text.count("\r\n")


def test_the_same_choices_again_change_nothing(hookrouter_home: Path) -> None:
    words = Words(command="cat", sessions=("work-*",), escalate_webhook="https://example.org/z")
    first = planned(hookrouter_home, None, words)
    assert first.before is None
    again = planned(hookrouter_home, after(first), words)
    assert not again.changes
    assert again.diff() == ""


def test_an_escalation_can_be_added_to_an_agent_that_is_there(hookrouter_home: Path) -> None:
    first = after(planned(hookrouter_home, None, Words(command="cat")))
    text = after(planned(hookrouter_home, first, Words(command="cat", escalate_command="true")))
    config = tomllib.loads(text)
    assert config["answer"]["escalate_to"] == "person"
    assert config["gateways"]["person"]["argv"] == ["true"]
    assert len(config["agents"]) == 1


@pytest.mark.parametrize(
    ("before", "words", "said"),
    [
        (OTHERS, Words(command="cat"), "--sessions: not given, and the agent 'rest'"),
        (THERE, Words(command="cat", name="ops"), "--name: found 'ops', which is another agent in"),
        (THERE, Words(command="cat", name="chat"), "has another [gateways.chat] already"),
        (
            THERE,
            Words(command="cat", escalate_to="chatt"),
            "which is not a gateway of config.toml; did you mean 'chat'?",
        ),
        (None, Words(command="cat", escalate_to="x"), "which is not a gateway of config.toml; there are: inbox"),
        (None, Words(command="no-such-program-x"), "--command: argv: program not found: no-such-program-x"),
        (None, Words(webhook="ftp://x"), "--webhook: url: "),
        (None, Words(openclaw="http://127.0.0.1:1"), "--openclaw: token_env: missing; "),
        (None, Words(openclaw="http://127.0.0.1:1", token_env="NOT_SET_X"), "--openclaw: token_env: the environment"),
        (None, Words(command="cat", escalate_command="no-such-program-x"), "--escalate-command: argv: program not"),
    ],
)
def test_what_cannot_be_used_is_named_by_its_option(
    before: str | None, words: Words, said: str, hookrouter_home: Path
) -> None:
    with pytest.raises(ChoiceError) as refused:
        planned(hookrouter_home, before, words)
    assert said in str(refused.value)
    assert (hookrouter_home / "config.toml").exists() == (before is not None)


def test_agents_on_one_line_are_left_to_their_author(hookrouter_home: Path) -> None:
    with pytest.raises(ConfigEditError, match="cannot be changed by a program as it is written; add yourself"):
        planned(hookrouter_home, 'agents = [{ id = "a", sessions = ["x"] }]\n', Words(command="cat"))


def test_a_file_that_was_changed_since_it_was_shown_stays(hookrouter_home: Path) -> None:
    home = Application.from_environ().home
    put(home, None, b"[journal]\n")
    for before in (None, b""):
        with pytest.raises(ConfigEditError, match="was changed meanwhile"):
            put(home, before, b"[answer]\n")
    assert (hookrouter_home / "config.toml").read_bytes() == b"[journal]\n"
    put(home, b"[journal]\n", b"[answer]\n")
    assert (hookrouter_home / "config.toml").read_bytes() == b"[answer]\n"
    assert (hookrouter_home / "config.toml").stat().st_mode & 0o777 == 0o600


def test_guards_alone_are_one_key_and_the_next_init_switches_the_rest_on(hookrouter_home: Path) -> None:
    plan = guards_plan(Application.from_environ())
    assert plan.before is None
    assert tomllib.loads(after(plan)) == {"plugins": {"guards_alone": True}}
    later = planned(hookrouter_home, after(plan), Words(person=True))
    assert after(later).startswith(after(plan).replace("guards_alone = true", "guards_alone = false"))
    assert [agent["id"] for agent in tomllib.loads(after(later))["agents"]] == ["me"]


def test_guards_alone_leave_the_rest_of_a_file_and_are_set_once(hookrouter_home: Path) -> None:
    (hookrouter_home / "config.toml").write_text("# mine\n[plugins.tmux]\ntimeout = 20 # slow\n")
    plan = guards_plan(Application.from_environ())
    assert "# mine\n[plugins.tmux]\ntimeout = 20 # slow\n" in after(plan)
    assert tomllib.loads(after(plan))["plugins"] == {"guards_alone": True, "tmux": {"timeout": 20}}
    put(Application.from_environ().home, plan.before, after(plan).encode())
    assert not guards_plan(Application.from_environ()).changes
    assert after(make_plan(Application.from_environ(), None)) == after(plan).replace("= true", "= false")


def test_guards_alone_are_not_set_beside_agents(hookrouter_home: Path) -> None:
    (hookrouter_home / "config.toml").write_text(THERE)
    with pytest.raises(ChoiceError, match=r"--guards: .* has the agents 'ops', which would hear of nothing; allowed"):
        guards_plan(Application.from_environ())
