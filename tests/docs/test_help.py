"""The help pages and the references in docs/: complete, and what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._contract.tables import EVENTS
from hookrouter._sandbox.waiting import wait_until
from hookrouter.cli.main import main
from hookrouter.replies import REPLIES
from hookrouter.samples import sample
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from scripts.generate import docs, manual
from support.command_lines import all_commands, check_calls

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

REPOSITORY = Path(__file__).parents[2]


COMMANDS = all_commands()


def block(text: str, title: str) -> str:
    """Return the paragraph that begins with ``title``, or an empty text."""
    found = re.search(rf"^\s*{title}.*?(?=\n\s*\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_page_says_what_the_command_does_shows_examples_and_explains_every_option(name: str) -> None:
    command = COMMANDS[name]
    text = command.help or ""
    first = text.split("\n\n")[0]
    assert first.rstrip().endswith("."), f"the first paragraph is no sentence: {first!r}"
    assert f"hookrouter {name}" in block(text, "Examples:"), "no example calls the command"
    assert re.search(r"\b0\b", block(text, "Exit codes")), "the exit codes are not told"
    unexplained = [parameter.name for parameter in command.params if not getattr(parameter, "help", None)]
    assert unexplained == []


@pytest.mark.parametrize("name", COMMANDS)
def test_its_examples_are_command_lines_that_it_takes(name: str) -> None:
    examples = block(COMMANDS[name].help, "Examples:").partition("\n")[2]
    assert check_calls(examples, COMMANDS) >= 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_option_is_refused_by_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--no-such-option"]) == 2
    assert "--no-such-option" in capsys.readouterr().err


def test_the_references_are_what_the_code_says() -> None:
    for name, text in manual.generate().items():
        written = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
        assert written == text, "run `python -m scripts.generate.manual`"


def test_the_check_names_the_file_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert manual.main([str(tmp_path)]) == 0
    assert manual.main(["--check", str(tmp_path)]) == 0
    (tmp_path / "reference" / "commands.md").write_text("old")
    assert manual.main(["--check", str(tmp_path)]) == 1
    assert "commands.md" in capsys.readouterr().err
    assert (tmp_path / "reference" / "commands.md").read_text() == "old"
    assert manual.main(["--cheek", str(tmp_path)]) == 2


def test_every_command_says_its_exit_codes() -> None:
    text = manual.exit_code_reference()
    assert [name for name in COMMANDS if f"## hookrouter {name}\n" not in text] == []


@pytest.mark.parametrize("table", manual.tables(), ids=lambda table: table.header)
def test_every_key_of_the_configuration_has_help_and_an_example_that_is_toml(table: Any) -> None:
    for key in table.keys:
        assert key.help, f"{table.header} {key.name}"
        if key.example:
            tomllib.loads(f"{key.name} = {key.example}")


def test_every_event_and_tool_is_in_the_hook_reference() -> None:
    pages = docs.generate()
    for record in EVENTS.values():
        assert f"### {record.hook}\n" in pages["reference/hooks.md"]
        assert f"## {record.name}\n" in pages["reference/events.md"]
        assert record.name not in REPLIES or f"## {record.name}Reply\n" in pages["reference/replies.md"]
    assert "| Bash | `_bash` |" in pages["reference/tools.md"]
    assert "| `command` | `str \\| None` | The command to execute. |" in pages["reference/tools.md"]


def test_the_journal_keys_of_a_run_are_in_the_hook_reference(hooks: Any) -> None:
    home = hooks.home
    site = Path(home.root) / "site"
    write_plugin(
        site,
        "judge",
        "from hookrouter import hookimpl\n"
        "from hookrouter.replies import PreToolUseReply\n"
        "@hookimpl\n"
        "def pre_tool_use(event, context):\n"
        "    return PreToolUseReply.deny(context.session)\n",
    )
    hooks.fire_process(sample("PreToolUse", "Bash"), environ={"PYTHONPATH": str(site)})
    (record,) = hooks.journal()
    assert set(record) <= set(manual.JOURNAL)
    assert record["outcome"] == "deny"
    (call,) = record["plugins"]
    assert set(call) <= set(manual.JOURNAL_CALLS)


def test_so_are_those_of_what_is_rewritten_kept_or_left(hooks: Any) -> None:
    home = hooks.home
    site = Path(home.root) / "site"
    write_plugin(
        site,
        "changer",
        "import os\n"
        "from hookrouter import hookimpl\n"
        "from hookrouter.replies import PostToolUseReply, PreToolUseReply\n"
        "@hookimpl\n"
        "def pre_tool_use_bash(event, tool_input):\n"
        "    os.environ['CHANGED'] = 'yes'\n"
        "    return PreToolUseReply.update_input({**tool_input.raw, 'command': 'true'})\n"
        "@hookimpl\n"
        "def post_tool_use_bash(event, tool_response):\n"
        "    return PostToolUseReply.update_output({**tool_response.raw, 'stdout': 'other'})\n",
    )
    Path(home.config_file).write_text("[journal]\npayloads = true\n")
    for event in ("PreToolUse", "PostToolUse"):
        hooks.fire_process(sample(event, "Bash"), environ={"PYTHONPATH": str(site)}, check=False)
    before, after = hooks.journal()
    assert before["tool_input_by"] == {"command": ["changer"]}
    assert after["tool_response_by"] == {"stdout": ["changer"]}
    calls = [call for record in (before, after) for call in record["plugins"] if call["plugin"] == "changer"]
    assert "left" in calls[0]
    assert "values" in calls[0]
    assert "payload" in before
    assert {*before, *after} <= set(manual.JOURNAL)
    assert {key for call in calls for key in call} <= set(manual.JOURNAL_CALLS)


def test_output_that_no_terminal_reads_holds_no_escape(hookrouter_home: Path) -> None:
    done = subprocess.run([*script_argv(), "doctor"], capture_output=True, timeout=60, check=False)
    assert b"settings" in done.stdout
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.tmux
@pytest.mark.parametrize(("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_whose_user_wants_them(
    environ: dict[str, str], coloured: bool, tmux_server: PrivateTmux, tmp_path: Path
) -> None:
    variables = {"HOME": str(tmp_path), "HOOKROUTER_HOME": str(tmp_path / "home"), **environ}
    pane = tmux_server.start("doctor", [*script_argv(), "doctor"], environ=variables, cwd=str(tmp_path))
    wait_until(pane.dead, 60, "the doctor's end", pane.capture)
    shown = tmux_server.run("capture-pane", "-e", "-p", "-t", pane.target)
    assert "settings" in shown
    assert ("\x1b[31m" in shown) is coloured


@pytest.mark.tmux
def test_a_command_that_takes_long_says_so_on_a_terminal_and_leaves_no_trace(
    tmux_server: PrivateTmux, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    program = (
        "import os, sys, threading\n"
        "from hookrouter.cli.terminal import Waiting\n"
        "with Waiting('counting sheep'):\n"
        "    while not os.path.exists(sys.argv[1]):\n"
        "        threading.Event().wait(0.02)\n"
        "print('\\ndone')\n"
    )
    pane = tmux_server.start("waiting", [sys.executable, "-c", program, str(over)], cwd=str(REPOSITORY))
    pane.wait_for("counting sheep (2 s)")
    over.touch()
    assert "counting sheep" not in pane.wait_for("done")


def test_it_says_nothing_where_no_terminal_reads_it() -> None:
    program = (
        "import threading\n"
        "from hookrouter.cli.terminal import Waiting\n"
        "with Waiting('counting sheep', quiet=0) as waiting:\n"
        "    threading.Event().wait(0.3)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout + done.stderr == b""
