"""What options come to, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter._setup.choices import ChoiceError, Choices, NewGateway, Words, choices_of


def test_nothing_but_a_person_is_the_inbox(tmp_path: Path) -> None:
    assert choices_of(Words(person=True), str(tmp_path)) == Choices("me", is_person=True)


def test_words_of_a_program_that_name_files_get_their_whole_path(tmp_path: Path) -> None:
    (tmp_path / "agent.py").touch()
    (tmp_path / "night").mkdir()
    found = choices_of(Words(command="python3 agent.py 'a b' night ~/x --file=agent.py"), str(tmp_path))
    assert found.gateway is not None
    argv = ["python3", f"{tmp_path}/agent.py", "a b", "night", "~/x", "--file=agent.py"]
    assert found.gateway == NewGateway(
        "agent", "command", {"argv": argv, "timeout": 600, "format": "text"}, "--command"
    )
    program = choices_of(Words(command="./agent.py"), str(tmp_path)).gateway
    assert program is not None
    assert program.table["argv"] == [f"{tmp_path}/agent.py"]
    program = choices_of(Words(command="~/agent.py"), str(tmp_path)).gateway
    assert program is not None
    assert program.table["argv"] == ["~/agent.py"]


def test_openclaw_and_escalation(tmp_path: Path) -> None:
    words = Words(
        openclaw="http://127.0.0.1:18789",
        token_file="secrets/token",
        name="person",
        sessions=("work-*", "work-*", "x y"),
        escalate_webhook="https://example.org/x",
    )
    table = {"url": words.openclaw, "agent": "main", "token_file": f"{tmp_path}/secrets/token"}
    assert choices_of(words, str(tmp_path)) == Choices(
        "person",
        gateway=NewGateway("person", "openclaw", table, "--openclaw"),
        sessions=("work-*", "x y"),
        # No gateway's name is there twice.
        escalation=NewGateway("person-2", "webhook", {"url": "https://example.org/x"}, "--escalate-webhook"),
    )


def test_a_glob_that_takes_all_is_none(tmp_path: Path) -> None:
    assert choices_of(Words(person=True, sessions=("work", "*")), str(tmp_path)).sessions == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (Words(command="a", webhook="https://b"), "found --command and --webhook; allowed: one of them"),
        (Words(person=True, openclaw="http://c"), "found --person and --openclaw; allowed: one of them"),
        (Words(command="'a"), """--command: found "'a" (No closing quotation); allowed: a program and its arguments"""),
        (Words(command="  "), "--command: found '  '; allowed: a program and its arguments"),
        (Words(command="a \udcff"), "--command: found '\\udcff'; allowed: a program and its arguments, in one line"),
        (Words(webhook="https://b", format="json"), "found --format without --command; allowed: with it"),
        (Words(command="a", token_env="T"), "found --token-env without --openclaw; allowed: with it"),
        (Words(command="a", format="yaml"), "--format: found 'yaml'; allowed: text or json"),
        (Words(command="a", name=""), "--name: found ''; allowed: a name, in one line"),
        (Words(command="a", sessions=("",)), "--sessions: found ''; allowed: a glob on the names of sessions"),
        (Words(webhook=""), "--webhook: found ''; allowed: an address"),
        (Words(openclaw="http://c", openclaw_agent="\n"), "--openclaw-agent: found"),
        (Words(command="a", escalate_to="b", escalate_command="c"), "found --escalate-command and --escalate-to;"),
        (Words(command="a", escalate_to=""), "--escalate-to: found ''; allowed: the name of a gateway"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: Words, said: str, tmp_path: Path) -> None:
    with pytest.raises(ChoiceError) as refused:
        choices_of(words, str(tmp_path))
    assert str(refused.value).startswith(said)
