"""The quick form of ``hookrouter answer``: it reads plain words as typer does, and leaves all others to it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter import quick
from hookrouter.application import Application
from hookrouter.cli.main import main
from hookrouter.hookspecs.commands import Command
from hookrouter.registry import Plugins
from hookrouter_ask_user_question import answer_command

if TYPE_CHECKING:
    from pathlib import Path

DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(answer_command.run).parameters.items()
    if name != "app"
}
NAMES = ("--session", "--file", "--tool-use-id", "--channel", "--wait", "--dry-run", "--json")
VALUES = st.one_of(
    st.sampled_from(["-", "", "auto", "1", "0.5", "-3", "inf", "nan", "1e400", "x=y", "--json", "--", "[]", " 7 "]),
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=5),
)
WORDS = st.lists(
    st.one_of(
        st.sampled_from(NAMES),
        VALUES,
        st.tuples(st.sampled_from(NAMES), VALUES).map("=".join),
        st.sampled_from(["--help", "--sess", "-x", "--unknown=1"]),
    ),
    max_size=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORDS)
def test_plain_words_mean_what_typer_reads_in_them(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    said: list[dict[str, Any]] = []

    def run(**arguments: Any) -> int:
        said.append(arguments)
        return 0

    monkeypatch.setattr(answer_command, "run", run)
    read = answer_command.read(words)
    main(["answer", *words])
    if read is not None:
        assert len(said) == 1, words
        assert repr({**DEFAULTS, **read}) == repr({name: said[0][name] for name in DEFAULTS})


@pytest.mark.parametrize(
    "words",
    [
        ["--session", "work", "[]"],
        ["--session=work", "--file", "-", "--json"],
        ["--tool-use-id", "toolu_1", "--wait", "0", "--channel", "keys", "-"],
        ["--session", "auto", "--dry-run", '[{"action": "select", "optionIndex": 0}]'],
    ],
)
def test_what_agents_write_is_plain(words: list[str]) -> None:
    assert answer_command.read(words) is not None


def test_an_answer_loads_neither_typer_nor_attrs(tmp_path: Path) -> None:
    code = (
        "import sys; from hookrouter.__main__ import main; "
        'code = main(["answer", "--session", "none", "[]"]); '
        'heavy = {"typer", "click", "attr", "cattrs", "requests", "backoff", "asyncio"} & set(sys.modules); '
        "sys.exit(f'{code} {sorted(heavy)}')"
    )
    environ = {"HOOKROUTER_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    main_done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    first = main_done.stderr.strip().splitlines()
    assert first[0] == ("hookrouter answer: not delivered: session none has no open question; no session has one")
    # The first command in a home reads every plugin, to index it.
    again = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert again.stderr.strip().splitlines()[-1] == "4 []"


def test_only_a_plugin_s_own_command_has_its_quick_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called: list[list[str]] = []

    def take(app: Application, words: list[str]) -> int | None:
        assert isinstance(app, Application)
        called.append(words)
        return None if "leave" in words else 7

    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    monkeypatch.setattr(answer_command, "quick", take)
    target = "hookrouter_ask_user_question.answer_command:quick"
    offered = [
        ("a", Command("talk", "A.", "a:talk", target)),
        ("b", Command("talk", "B.", "b:talk", "b:lost")),
        ("c", Command("install", "C.", "c:talk", target)),
        ("d", Command("plain", "D.", "d:talk")),
        ("e", Command("lost", "E.", "e:talk", "hookrouter.no_such_module:talk")),
        ("f", Command("odd", "F.", "f:talk", "nowhere")),
    ]
    monkeypatch.setattr(Plugins, "cli_commands", lambda self: offered)
    assert quick.run_quick("talk", ["x"]) == 7
    assert quick.run_quick("talk", ["leave"]) is None
    assert called == [["x"], ["leave"]]
    assert [quick.run_quick(name, []) for name in ("install", "plain", "lost", "odd", "none")] == [None] * 5
    assert len(called) == 2


def test_an_interrupted_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(app: Application, words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(answer_command, "quick", interrupted)
    assert quick.run_quick("answer", []) == 1
    assert capsys.readouterr().err == "hookrouter: aborted\n"
