"""The command line: what it lists, what it refuses, and that a plugin's command is imported only when it is used."""

from __future__ import annotations

import json
import pwd
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from hookrouter import __version__
from hookrouter.__main__ import main as front_door
from hookrouter._commands import BUILT_IN, GROUPS, contributed
from hookrouter._plugins.registry import NOT_INSTALLED
from hookrouter.cli.main import main
from hookrouter.hookspecs.commands import Command
from hookrouter.storage.interface import StoreError
from hookrouter.testing.plugins import write_plugin

if TYPE_CHECKING:
    from pathlib import Path

GREETER = """
from hookrouter import hookimpl
from hookrouter.hookspecs.commands import Command

@hookimpl
def cli_commands():
    return [
        Command("greet", "Say hello to somebody.", "greeter_cli:greet"),
        Command("lost", "Cannot be imported.", "greeter_missing:lost", group="Mine"),
        Command("install", "Not to be had.", "greeter_cli:greet"),
    ]
"""

GREETER_CLI = '''
"""Imported only when the command is used."""
from typing import Annotated
import typer

print("imported greeter_cli")

from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json

def greet(name: str, loud: Annotated[bool, typer.Option(help="Shout.")] = False, as_json: Json = False) -> int:
    """Greet NAME, and exit with 7."""
    if name == "nobody":
        raise CommandError("there is nobody")
    print(f"hello {name}".upper() if loud else f"hello {name}")
    return 7
'''


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third party's plugin that brings commands, installed on sys.path."""
    site = tmp_path / "site"
    metadata = site / "greeter-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hookrouter]\ngreeter = greeter_plugin\n")
    (site / "greeter_plugin.py").write_text(GREETER)
    (site / "greeter_cli.py").write_text(GREETER_CLI)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("HOOKROUTER_NO_CACHE", "1")
    for module in ("greeter_plugin", "greeter_cli"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hookrouter {__version__}\n"
    assert main([]) == 0
    out = capsys.readouterr().out
    for command in ("run", "install", "uninstall", "plugins", "doctor", "deliver", "answer", "questions"):
        assert f"\n  {command} " in out


@pytest.mark.usefixtures("greeter")
def test_help_lists_the_commands_in_groups_each_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    titles = [line.removesuffix(":") for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options", *GROUPS, "Plugins", "Mine"]
    assert out.index("\n  install ") < out.index("\nPlugins:") < out.index("\n  greet ") < out.index("\nMine:")
    for command in (*(one.name for one in BUILT_IN), "greet", "lost", "send", "allow"):
        assert out.partition("Options:")[2].count(f"\n  {command} ") == 1, command


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--help"],
        ["install", "--help"],
        ["uninstall", "--help"],
        ["plugins", "list", "--help"],
        ["doctor", "--help"],
        ["deliver", "--help"],
    ],
)
def test_every_command_has_a_help_page(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(f"Usage: hookrouter {arguments[0]}")


@pytest.mark.parametrize("command", ["run", "deliver"])
def test_the_front_door_leads_to_the_help_pages(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert front_door([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: hookrouter {command}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["instal"], "there is no command 'instal'; did you mean 'install'?"),
        (["zzz"], "'hookrouter --help' lists the commands"),
        (["--nope"], "--nope"),
        (["install", "--nope"], "--nope"),
        (["install", "--scope", "moon"], "moon"),
        (["install", "--scope", "user", "--settings", "x"], "name two files"),
        (["install", "--settings", ""], "--settings is empty"),
        (["install", "--settings", "/nope/dir/x.json"], "the folder /nope/dir does not exist"),
        (["install", "--settings", "/nope/.claude/x.json"], "the folder /nope/.claude does not exist"),
        (["deliver", "--nope"], "--nope"),
        (["plugins", "list", "--hook", "Stop"], "there is no hook 'Stop'; did you mean 'stop'?"),
        (["plugins", "list", "--hook", "PreToolUse"], "did you mean 'pre_tool_use'?"),
        (["plugins", "list", "--hook", "pre_tool_use_bsh"], "did you mean 'pre_tool_use_bash'?"),
        (["plugins", "list", "--hook", "zzz"], "there is no hook 'zzz'; hook names look like"),
        (["plugins", "lost"], "lost"),
        (["\x1b[31mred"], "\\x1b[31mred"),
    ],
)
def test_a_wrong_command_line_is_explained_without_a_traceback(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_a_state_folder_that_cannot_be_used_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Refused:
        def main(self, **_given: object) -> None:
            raise StoreError("cannot lock it: Read-only file system")

    monkeypatch.setattr("hookrouter.cli.main.command_line", Refused)
    assert main(["questions", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "hookrouter: cannot lock it: Read-only file system\n"
    assert json.loads(captured.out) == {"error": "cannot lock it: Read-only file system"}


@pytest.mark.usefixtures("greeter")
def test_a_plugins_commands_are_listed_without_their_import(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    captured = capsys.readouterr()
    assert re.search(r"^  greet +Say hello to somebody\.$", captured.out, re.MULTILINE)
    assert "imported greeter_cli" not in captured.out
    assert "plugin greeter: the command 'install' is hookrouter's own" in captured.err
    assert "Not to be had" not in captured.out


@pytest.mark.usefixtures("greeter")
def test_a_plugins_command_runs_and_its_number_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "Ada", "--loud"]) == 7
    assert capsys.readouterr().out == "imported greeter_cli\nHELLO ADA\n"
    assert main(["greet", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: hookrouter greet [OPTIONS]")
    assert "Greet NAME, and exit with 7." in out
    assert main(["greet"]) == 2
    assert "name" in capsys.readouterr().err.lower()


@pytest.mark.usefixtures("greeter")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["greet", "nobody", "--json"], "there is nobody"), (["greet", "--json"], "Missing argument")],
)
def test_what_a_plugins_command_cannot_do_is_a_json_document_too(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert said in json.loads(captured.out.removeprefix("imported greeter_cli\n"))["error"]
    assert said in captured.err
    # What stands behind -- is no option.
    assert main(["greet", "nobody", "--", "--json"]) == 2
    assert "{" not in capsys.readouterr().out


@pytest.mark.usefixtures("greeter")
def test_a_command_that_cannot_be_imported_names_its_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lost"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("hookrouter: the command 'lost' of the plugin greeter cannot be used: greeter_missing:lost")
    assert "ModuleNotFoundError" in err


@pytest.mark.usefixtures("greeter")
def test_plugins_are_listed_with_status_version_and_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "list", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["greeter"] == {
        "name": "greeter",
        "status": "active",
        "reason": "",
        "fix": "",
        "distribution": "greeter",
        "version": "1.0",
        "entry_point": "greeter_plugin",
        "hooks": ["cli_commands"],
        "stateless": [],
        "switched_off": None,
        "trouble": [],
        "problems": [],
        "hints": [],
    }
    assert not [each["name"] for each in listed.values() if each["hints"]]
    assert main(["plugins", "list", "--hook", "gateway", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == ["command", "inbox", "openclaw", "webhook"]
    assert main(["plugins", "list", "--hook", "setup"]) == 0
    assert capsys.readouterr().out == "no plugin implements setup\n"


FORGETFUL = """
from hookrouter import hookimpl
from hookrouter.hookspecs import EventSpecs, PreToolUseSpecs
from os.path import join as setup

@hookimpl(specname="notification")
def told(event, context): pass

def notification(event, context): pass

def pre_tool_use(event, context): pass

class Guard(PreToolUseSpecs, EventSpecs):
    def stop(self, event, context): pass

    @hookimpl
    def pre_tool_use_bash(self, event, tool_input, context): pass

    @staticmethod
    def session_end(event, context): pass
"""


@pytest.mark.parametrize(
    ("attribute", "hooks", "names"),
    [("", ["notification"], ["pre_tool_use"]), ("Guard", ["pre_tool_use_bash"], ["session_end", "stop"])],
    ids=["module", "class"],
)
def test_a_forgotten_marker_is_hinted_at(
    attribute: str,
    hooks: list[str],
    names: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_plugin(tmp_path / "site", "forgetful", FORGETFUL, attribute=attribute)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    for _ in ("scanned", "from the index"):
        assert main(["plugins", "list", "--json"]) == 0
        (found,) = (each for each in json.loads(capsys.readouterr().out) if each["name"] == "forgetful")
        assert (found["status"], found["hooks"]) == ("active", hooks)
        assert found["hints"] == [f"{name} has a hook's name but no @hookimpl" for name in names]
    assert main(["plugins", "list"]) == 0
    assert f"\n  hint: {names[0]} has a hook's name but no @hookimpl\n" in capsys.readouterr().out


def test_install_warns_of_hooks_that_are_switched_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / ".claude" / "settings.json"
    assert main(["install", "--settings", str(path)]) == 0
    assert capsys.readouterr().err == ""
    path.write_text('{"disableAllHooks": true}')
    assert main(["install", "--json", "--settings", str(path)]) == 0
    captured = capsys.readouterr()
    warning = f"{path}: disableAllHooks is true, so no hook runs; fix: set it to false"
    assert json.loads(captured.out)["warnings"] == [warning]
    assert captured.err == f"hookrouter: warning: {warning}\n"


@pytest.mark.usefixtures("greeter")
def test_disabled_and_broken_plugins_are_listed_with_the_reason(
    tmp_path: Path, hookrouter_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site" / "greeter_plugin.py").write_text("import no_such_module\n")
    (hookrouter_home / "config.toml").write_text("[plugins.inbox]\nenabled = false\n")
    assert main(["plugins", "list"]) == 0
    out = capsys.readouterr().out
    assert "greeter  broken  greeter 1.0\n  why: ModuleNotFoundError: No module named 'no_such_module'\n  fix: " in out
    assert f"[plugins.greeter] enabled = false in {hookrouter_home}/config.toml" in out
    assert "inbox  disabled" in out
    assert main(["greet", "Ada"]) == 2
    assert "the plugin greeter is broken (ModuleNotFoundError" in capsys.readouterr().err


def test_a_guard_that_is_not_installed_is_shown_with_what_to_do(
    tmp_path: Path, hookrouter_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (hookrouter_home / "config.toml").write_text('[plugins.lost]\non_error = "closed"\n')
    fix = f"install the plugin lost, or remove [plugins.lost] from {hookrouter_home}/config.toml"
    assert main(["plugins", "list"]) == 0
    assert f"lost  broken\n  why: {NOT_INSTALLED}\n  fix: {fix}\n  hooks: not known\n" in capsys.readouterr().out
    assert main(["plugins", "list", "--json"]) == 0
    (lost,) = (each for each in json.loads(capsys.readouterr().out) if each["name"] == "lost")
    assert (lost["status"], lost["fix"]) == ("broken", fix)
    path = tmp_path / "settings.json"
    assert main(["install", "--json", "--settings", str(path)]) == 0
    captured = capsys.readouterr()
    warning = f"the plugin lost is broken: {NOT_INSTALLED}; fix: {fix}"
    report = json.loads(captured.out)
    assert report["warnings"] == [warning]
    assert captured.err == f"hookrouter: warning: {warning}\n"
    guarded = [(entry["event"], entry["matcher"]) for entry in report["registered"] if entry["block_on_failure"]]
    assert guarded == [("PreToolUse", None)]


@pytest.mark.parametrize("command", [["install"], ["uninstall"], ["plugins", "list"], ["doctor"]])
@pytest.mark.parametrize("wrong", ["option", "home", "file", "two files"])
def test_with_json_a_failure_is_one_json_document_too(
    command: list[str],
    wrong: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "settings.json").write_text("{broken")
    arguments = [*command, "--json"]
    if wrong == "option":
        arguments += ["--nope"]
    elif wrong == "home":
        monkeypatch.delenv("HOOKROUTER_HOME")
        monkeypatch.setenv("HOME", "nowhere")
        monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])
    else:
        arguments += ["--settings", str(tmp_path / "settings.json")]
        arguments += ["--scope", "user"] if wrong == "two files" else []
    code = main(arguments)
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    if command == ["doctor"] and wrong == "file":
        assert (code, document["ok"]) == (1, False)
        return
    assert code == 2
    assert list(document) == ["error"]
    assert document["error"].split("\n")[0] in captured.err


def test_a_plugin_that_prints_does_not_spoil_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plugin(tmp_path / "site", "noisy", "print('imported')\n" + GREETER)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "noisy", raising=False)
    main(["doctor", "--json"])
    captured = capsys.readouterr()
    assert "findings" in json.loads(captured.out)
    assert "imported" in captured.err


def test_of_two_commands_with_one_name_the_first_is_used() -> None:
    usable, problems = contributed(
        [
            ("a", Command("talk", "A.", "a:talk")),
            ("b", Command("talk", "B.", "b:talk")),
            ("c", Command("deliver", "C.", "c:talk")),
            ("d", Command("Bad Name", "D.", "d:talk")),
            ("e", Command("talk-more", "E.", "no_function")),
            ("f", "nonsense"),  # type: ignore[list-item]
        ]
    )
    assert [(name, entry.plugin) for name, entry in usable.items()] == [("talk", "a")]
    assert sorted(problem.split(":")[0] for problem in problems) == [f"plugin {name}" for name in "bcdef"]


def test_doctor_writes_json_and_its_exit_code_tells_of_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["doctor", "--json", "--settings", str(tmp_path / "none.json")]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert {"level", "check", "message", "fix"} == set(report["findings"][0])
    assert main(["doctor", "--settings", str(tmp_path / "none.json")]) == 1
    assert "fix: hookrouter install --settings" in capsys.readouterr().out


def test_an_interrupted_command_ends_as_a_shell_expects(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_folder: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.listdir", interrupted)
    monkeypatch.setattr("os.scandir", interrupted)
    assert main(["questions"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_the_ends_of_programs_are_told_though_the_starter_ignores_them(capsys: pytest.CaptureFixture[str]) -> None:
    former = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert front_door(["--version"]) == 0
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGCHLD, former)
    assert __version__ in capsys.readouterr().out
