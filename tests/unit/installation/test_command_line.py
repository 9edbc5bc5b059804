"""The command line of an entry: written, recognised, and found inside another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._installation import front_command
from hookrouter._installation.command_line import hook_command, parse_command, runs_hookrouter
from hookrouter._installation.front_command import START, Front, front_words, python_front_path


@pytest.mark.parametrize("path", ["/a/hookrouter", "/with space/hookrouter", "/it's/$HOME/hookrouter"])
@pytest.mark.parametrize("home", [None, "/h", "/a home/it's"])
def test_a_command_is_recognised_wherever_the_program_is(path: str, home: str | None) -> None:
    ours = parse_command(hook_command([path], home, "pre-tool-use"))
    assert ours == (path, "pre-tool-use", home, None)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "hookrouter",
        "hookrouter answer stop",
        "hookrouter run",
        "hookrouter run stop && say done",
        "my-hookrouter run stop",
        "echo hookrouter run stop",
        "hookrouter run 'unclosed",
        "python -m other run stop",
    ],
)
def test_other_commands_are_never_taken_for_ours(command: str) -> None:
    assert parse_command(command) is None


def test_the_module_form_and_the_exec_form_are_ours() -> None:
    assert parse_command("/v/bin/python -P -m hookrouter run stop") is not None
    assert parse_command("/v/bin/hookrouter", ["run", "stop"]) is not None
    assert parse_command("/v/bin/hookrouter", ["answer", "stop"]) is None


WRAPPED = [
    "hookrouter run stop 2>/dev/null",
    "/opt/hookrouter/bin/hookrouter run stop || true",
    "timeout 30 /opt/hookrouter run stop",
    "exec hookrouter run stop",
    "env FOO=1 hookrouter run stop",
    "sh -c 'hookrouter run stop'",
    "cd /tmp && '/with space/hookrouter' run stop",
    "/v/bin/python -P -m hookrouter run stop | tee /tmp/log",
    'nice "/opt/hookrouter" run stop',
]


@pytest.mark.parametrize("command", WRAPPED)
def test_a_command_that_was_changed_by_hand_is_not_ours_but_runs_hookrouter(command: str) -> None:
    assert parse_command(command) is None
    assert runs_hookrouter(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "hookrouter answer stop",
        "my-hookrouter run stop",
        "hookrouter.py run stop",
        "hookrouter-x run stop",
        "run stop",
    ],
)
def test_a_command_without_hookrouter_is_nobody_s(command: str) -> None:
    assert not runs_hookrouter(command)


@given(st.text(), st.text(), st.sampled_from(["/a/hookrouter", "/with space/it's/hookrouter"]))
def test_whatever_stands_around_our_command_it_is_found(before: str, after: str, path: str) -> None:
    assert runs_hookrouter(f"{before} {hook_command([path], None, 'pre-tool-use')} {after}")


_SITE = "/a site/it's"
NATIVE = f"{_SITE}/hookrouter/_fronts/native"
PYTHON = f"{_SITE}/hookrouter/_fronts/python_front.py"

_PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).map(lambda text: f"/{text}")
_WORDS = st.sampled_from(["stop", "pre-tool-use", "permission-request"])


@given(
    front=st.sampled_from([Front.NATIVE, Front.PYTHON, Front.COLD]),
    folder=_PATHS,
    site=_PATHS,
    home=st.none() | _PATHS,
    program=_PATHS.map(lambda path: f"{path}/hookrouter"),
    word=_WORDS,
)
def test_a_command_line_with_a_front_is_taken_apart_as_it_was_written(
    front: Front, folder: str, site: str, home: str | None, program: str, word: str
) -> None:
    starts = {
        Front.NATIVE: [f"{site}/hookrouter/_fronts/native"],
        Front.PYTHON: [f"{site}/bin/python3.11", "-SPc", START, f"{site}/hookrouter/_fronts/python_front.py"],
        Front.COLD: [],
    }[front]
    script = [*starts, *([folder] if starts else []), program]
    command = hook_command(script, home, word)
    ours = parse_command(command)
    assert ours is not None
    assert (ours.program, ours.event_word, ours.home) == (program, word, home)
    found = ours.front
    if found is None:
        assert front is Front.COLD
    else:
        assert (found.front, found.words, found.folder) == (front, tuple(starts), folder)
        assert hook_command([*found.words, found.folder, ours.program], ours.home, ours.event_word) == command
    assert runs_hookrouter(command)


@pytest.mark.parametrize("front", [Front.NATIVE, Front.PYTHON])
@pytest.mark.parametrize("cold", [["/v/bin/hookrouter"], ["/v/bin/python", "-P", "-m", "hookrouter"]])
def test_the_words_of_this_installation_s_fronts_are_ours(front: Front, cold: list[str]) -> None:
    ours = parse_command(hook_command([*front_words(front, "/h/state/router"), *cold], "/h", "stop"))
    assert ours is not None
    assert ours.front is not None
    assert (ours.front.front, ours.front.folder, ours.program) == (front, "/h/state/router", cold[0])
    assert ours.front.file == (front_command.native_path() if front is Front.NATIVE else python_front_path())


@pytest.mark.parametrize(
    "words",
    [
        [NATIVE],
        [NATIVE, "/router"],
        [NATIVE, "/router", "/bin/other"],
        ["/bin/native", "/router", "/bin/hookrouter"],
        ["timeout", "30", NATIVE, "/router", "/bin/hookrouter"],
        ["/v/python", PYTHON, "/router", "/bin/hookrouter"],
        ["/v/python", "-SP", PYTHON, "/bin/hookrouter"],
        ["/v/python", "-SP", "/x/python_front.py", "/router", "/bin/hookrouter"],
    ],
)
def test_other_words_around_a_front_are_not_ours(words: list[str]) -> None:
    assert parse_command(hook_command(words, None, "stop")) is None
