"""Completion in real shells: the script that ``hookrouter completion`` prints, and a person who presses Tab."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter.dialogs.documents import Dialog, save_question
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.testing.plugins import write_plugin
from hookrouter.testing.pytest_plugin import skip_without
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = os.path.dirname(script_argv()[0])
SHELLS = {
    "bash": ("bash", "--norc", "--noprofile"),
    "zsh": ("zsh", "-f"),
    "fish": ("fish", "--no-config"),
}
SETUP = {
    "bash": 'PS1="ready> "; eval "$(hookrouter completion bash)"',
    "zsh": 'PS1="ready> "; autoload -U compinit; compinit -D; eval "$(hookrouter completion zsh)"',
    "fish": 'function fish_prompt; echo "ready> "; end; hookrouter completion fish | source',
}


def complete(line: str, home: Path, site: str = "") -> list[str]:
    """Return what bash offers for the last word of ``line``, by the very function that Tab calls."""
    words = line.split(" ")
    script = (
        'eval "$(hookrouter completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_hookrouter_completion hookrouter; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environ = {
        **os.environ,
        "PATH": f"{FOLDER}:{os.environ['PATH']}",
        "HOOKROUTER_HOME": str(home),
        "PYTHONPATH": site,
    }
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script, "bash", *words],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_of_hookrouter_and_of_plugins_are_offered(tmp_path: Path) -> None:
    offered = complete("hookrouter ", tmp_path)
    assert {"install", "plugins", "doctor", "completion", "answer", "questions"} <= set(offered)
    assert complete("hookrouter doc", tmp_path) == ["doctor"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hookrouter plugins li", ["list"]),
        ("hookrouter outbox re", ["retry"]),
        ("hookrouter doctor --cl", ["--client"]),
        ("hookrouter answer --dry", ["--dry-run"]),
        ("hookrouter install --scope p", ["project"]),
        ("hookrouter run pre-tool", ["pre-tool-use"]),
        ("hookrouter sample PreToolUse AskU", ["AskUserQuestion"]),
        ("hookrouter sample SessionStart comp", ["compact"]),
        (
            "hookrouter sample PreToolUse AskUserQuestion --first tool_input.questions.0",
            ["tool_input.questions.0.options"],
        ),
    ],
)
def test_subcommands_options_and_choices_are_offered(line: str, expected: list[str], tmp_path: Path) -> None:
    assert complete(line, tmp_path) == expected


def test_plugins_are_offered_as_they_are_installed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_plugin(site, "night-guard", "")
    assert complete("hookrouter plugins info night", tmp_path / "home", str(site)) == ["night-guard"]
    assert "pre_tool_use_bash" in complete("hookrouter plugins list --hook pre_tool_use_ba", tmp_path / "home")


def test_sessions_that_ask_are_offered_but_none_that_a_shell_would_run(tmp_path: Path) -> None:
    store = Store(Home.in_folder(str(tmp_path)).state, lambda _warning: None)
    form = [{"question": "Which?", "header": "", "multiSelect": False, "options": [{"label": "A"}, {"label": "B"}]}]
    for number, session in enumerate(("work-1", "other", "work-$(touch x)", "work-`id`")):
        save_question(store, Dialog(session, "s", f"toolu_{number}", form, None, "night", "inbox"))
    assert complete("hookrouter answer --session wo", tmp_path) == ["work-1"]


def test_a_broken_plugin_adds_no_word_and_no_noise(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_plugin(site, "loud", "print('hello'); raise RuntimeError('no')")
    assert complete("hookrouter unins", tmp_path / "home", str(site)) == ["uninstall"]
    assert complete("hookrouter nosuch x", tmp_path / "home", str(site)) == []


def test_another_shell_is_refused_with_the_names_of_those_that_are_known() -> None:
    done = subprocess.run([*script_argv(), "completion", "csh"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert all(shell in done.stderr for shell in SHELLS)


@pytest.mark.tmux
@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_in_the_shell_itself(shell: str, tmp_path: Path) -> None:
    skip_without("" if shutil.which(shell) else f"{shell} is not on PATH")
    environ = {
        "PATH": f"{FOLDER}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "HOOKROUTER_HOME": str(tmp_path / "home"),
    }
    with PrivateTmux(environ) as server:
        pane = server.start("shell", SHELLS[shell], cwd=str(tmp_path))
        pane.wait_for(lambda screen: screen.strip())
        pane.type(f"{SETUP[shell]}; clear")
        pane.press("Enter")
        pane.wait_for(lambda screen: screen.strip() == "ready>")
        for typed, expected in [("hookrouter plug", "plugins"), (" li", "plugins list"), (" --hoo", "list --hook")]:
            pane.type(typed)
            pane.press("Tab")
            # Some shells add the blank after a word at once.
            pane.wait_for(lambda screen, expected=expected: expected in " ".join(screen.split()))
