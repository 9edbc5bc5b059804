"""What doctor finds, and that every finding says what mends it."""

from __future__ import annotations

import compileall
import http.client
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import hookrouter
from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.checks.settings import stale_registrations
from hookrouter._diagnostics.doctor import examine
from hookrouter._installation.front_command import Front, front_words, python_front_path
from hookrouter._installation.registrations import http_registrations, wanted_registrations
from hookrouter._installation.settings_file import install
from hookrouter._isolation import circuit_breaker
from hookrouter._mod.folder import mod_folder, write_mod
from hookrouter._mod.setup import current_files
from hookrouter._plugins.registry import Plugins
from hookrouter._serving import address
from hookrouter._serving.units import service
from hookrouter.cli.application import Application
from hookrouter.config import Config, PluginConfig
from hookrouter.messaging.delivery.attempt import PLUGIN_FAULT
from hookrouter.messaging.gateway import Gateway, Message, Probe, gateways
from hookrouter.messaging.pauses import begin
from hookrouter.serving import control
from hookrouter.serving.resident import extra_missing
from hookrouter.storage.home import Home
from hookrouter.terminals import TerminalBackend
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.clock import iso
from hookrouter.util.program import script_argv
from support.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(monkeypatch)


@pytest.fixture(scope="module")
def plugin_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of one scan for plugins, which takes seconds."""
    home = tmp_path_factory.mktemp("scanned")
    Application.from_environ({"HOOKROUTER_HOME": str(home)})
    return home / "cache"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin_index: Path, programs: Programs) -> Path:
    """A machine on which nothing is wrong: programs, and a registered and writable home."""
    shutil.copytree(plugin_index, tmp_path / "home" / "cache")
    (tmp_path / "home").chmod(0o700)
    programs.put(tmp_path / "bin" / "tmux", "-V", "tmux 3.3a")
    programs.put(tmp_path / "bin" / "claude", "--version", "2.1.330 (Claude Code)")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(tmp_path)
    app = Application.from_environ()
    install(str(tmp_path / "claude" / "settings.json"), wanted_registrations(app), app.store)
    return tmp_path


def findings(check: str, settings_file: Path | None = None) -> list[Finding]:
    found = examine(Application.from_environ(), None if settings_file is None else str(settings_file))
    assert all(bool(finding.fix) == (finding.level != OK) for finding in found)
    return [finding for finding in found if finding.check == check]


def configure(machine: Path, text: str) -> None:
    (machine / "home" / "config.toml").write_text(text)


def test_nothing_is_wrong_on_a_good_machine(machine: Path) -> None:
    found = examine(Application.from_environ())
    assert [finding for finding in found if finding.level == ERROR] == []
    assert {"client", "settings", "config", "agents", "answering", "gateways", "plugins", "home", "outbox"} <= {
        finding.check for finding in found
    }


@pytest.mark.parametrize(
    ("output", "code", "level"),
    [
        ("2.0.76 (Claude Code)", 0, OK),
        ("2.0.75 (Claude Code)", 0, ERROR),
        ("1.9.200", 0, ERROR),
        ("3.0.0-beta (Claude Code)", 0, OK),
        ("hello", 0, WARNING),
        ("2.1.330", 3, WARNING),
    ],
)
def test_the_version_of_the_client_is_checked(
    machine: Path, programs: Programs, output: str, code: int, level: str
) -> None:
    programs.put(machine / "bin" / "claude", "--version", output, code)
    assert [finding.level for finding in findings("client")] == [level]


def terminal(monkeypatch: pytest.MonkeyPatch, look: Callable[[], Probe] | None) -> None:
    """Have a terminal backend named tmux that tells what ``look`` does; None for one that cannot tell."""
    backend = SimpleNamespace(name="tmux", probe=look or TerminalBackend().probe)
    monkeypatch.setattr("hookrouter._diagnostics.checks.terminal.terminal_backends", lambda _plugins: {"tmux": backend})


@pytest.mark.parametrize(
    ("channels", "level"),
    [('["keys"]', ERROR), ('["reply", "keys"]', WARNING), ('["keys", "reply"]', WARNING), ('["reply"]', OK)],
)
def test_a_terminal_that_cannot_be_used_is_as_bad_as_the_configuration_makes_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch, channels: str, level: str
) -> None:
    configure(machine, f"[answer]\nchannels = {channels}\n")
    terminal(monkeypatch, lambda: Probe(False, "tmux is not on PATH", "install tmux"))
    (found,) = findings("tmux")
    assert (found.level, found.fix) == (level, "" if level == OK else "install tmux")
    assert found.message.startswith("tmux is not on PATH; ")


@pytest.mark.parametrize(
    ("look", "level", "message"),
    [
        (lambda: Probe(True, "tmux 3.3a at /usr/bin/tmux"), OK, "tmux 3.3a at /usr/bin/tmux"),
        (lambda: 1 // 0, WARNING, "the plugin's probe failed: ZeroDivisionError"),
    ],
)
def test_a_terminal_that_can_look_says_what_it_found(
    machine: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[], Probe], level: str, message: str
) -> None:
    terminal(monkeypatch, look)
    (found,) = findings("tmux")
    assert found.level == level
    assert found.message.startswith(message)


def test_nothing_is_said_of_a_terminal_that_cannot_tell(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch, None)
    assert findings("tmux") == []


def test_a_client_that_is_missing_is_a_warning(machine: Path) -> None:
    (machine / "bin" / "claude").unlink()
    assert [finding.level for finding in findings("client")] == [WARNING]


def test_a_file_that_registers_nothing_is_an_error(machine: Path) -> None:
    (machine / "claude" / "settings.json").write_text("{}")
    assert [(each.level, each.fix) for each in findings("settings")] == [(ERROR, "hookrouter install")]
    other = machine / "other.json"
    assert [(each.level, each.fix) for each in findings("settings", other)] == [
        (ERROR, f"hookrouter install --settings {other}")
    ]


def _edit(change: Callable[[str], str]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        path.write_text(change(path.read_text()))

    return edit


@pytest.mark.parametrize(
    ("edit", "level", "message"),
    [
        (_edit(lambda text: text + "x"), ERROR, "cannot be read"),
        (
            _edit(lambda text: text.replace('{\n  "hooks"', '{"disableAllHooks": true,\n  "hooks"')),
            ERROR,
            "disableAllHooks",
        ),
        (_edit(lambda text: text.replace('"AskUserQuestion"', '"Bash"', 1)), ERROR, "not registered"),
        (_edit(lambda text: text.replace('"AskUserQuestion"', '"Bash"', 1)), WARNING, "no active plugin needs it"),
        (_edit(lambda text: text.replace('"timeout": 60', '"timeout": 60000', 1)), WARNING, "timeout"),
        (_edit(lambda text: text.replace("/hookrouter run", "/gone/hookrouter run", 1)), ERROR, "does not exist"),
        (_edit(lambda text: text.replace("/hookrouter run", "/gone/hookrouter run", 1)), ERROR, "instead of"),
    ],
)
def test_entries_that_are_not_current_are_found(
    machine: Path, edit: Callable[[Path], None], level: str, message: str
) -> None:
    edit(machine / "claude" / "settings.json")
    assert [each for each in findings("settings") if each.level == level and message in each.message]


@pytest.mark.parametrize("guarded", ["", "closed"])
def test_entries_that_are_only_grouped_otherwise_are_out_of_date_and_not_unneeded(
    machine: Path, guarded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(machine / "site", "guard", _GUARD)
    monkeypatch.syspath_prepend(str(machine / "site"))
    monkeypatch.setenv("PYTHONPATH", str(machine / "site"))
    tables = ['[plugins.guard]\non_error = "closed"\n', ""]
    first, second = tables if guarded else reversed(tables)
    configure(machine, first)
    app = Application.from_environ(scan=True)
    install(str(machine / "claude" / "settings.json"), wanted_registrations(app), app.store)
    assert [finding.level for finding in findings("settings")] == [OK]
    configure(machine, second)
    (found,) = (finding for finding in findings("settings") if "settings.json" in finding.message)
    assert "PreToolUse: its entries are out of date" in found.message
    assert "on_error" in found.message
    assert found.level == (WARNING if guarded else ERROR)
    assert found.fix == "hookrouter install"


_GUARD = """
from hookrouter import hookimpl
@hookimpl
def pre_tool_use_bash(tool_input):
    return None
"""


def test_an_entry_that_was_changed_by_hand_is_neither_missing_nor_to_be_doubled(machine: Path) -> None:
    path = machine / "claude" / "settings.json"
    document = json.loads(path.read_text())
    (group,) = document["hooks"]["PreToolUse"]
    group["hooks"][0]["command"] = f"timeout 30 {group['hooks'][0]['command']} 2>/dev/null || true"
    path.write_text(json.dumps(document))
    (found,) = findings("settings")
    assert found.level == WARNING
    assert "PreToolUse (AskUserQuestion): served by an entry that was changed by hand, 'timeout 30 " in found.message
    assert found.fix == "remove that entry by hand, then run: hookrouter install"
    assert stale_registrations(Application.from_environ()) == []


def test_a_second_registration_with_another_command_is_found(machine: Path) -> None:
    text = (machine / "claude" / "settings.json").read_text()
    (machine / ".claude").mkdir()
    (machine / ".claude" / "settings.json").write_text(text.replace("/hookrouter run", "/old/hookrouter run"))
    found = findings("settings", machine / "claude" / "settings.json")
    assert [each.level for each in found] == [OK, WARNING]
    assert "run twice" in found[1].message


def _with_claude_plugin(machine: Path, value: object = True) -> None:
    file = machine / "claude" / "settings.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "enabledPlugins": {"hookrouter@here": value, "other@here": True}}))


def test_the_claude_code_plugin_beside_an_installation_is_found(machine: Path) -> None:
    _with_claude_plugin(machine)
    (warning, current) = findings("settings")
    assert (warning.level, current.level) == (WARNING, OK)
    assert "hookrouter@here" in warning.message
    assert "claude plugin disable hookrouter@here" in warning.fix


@pytest.mark.parametrize(("guard", "level"), [(False, OK), (True, ERROR)])
def test_the_claude_code_plugin_alone_is_enough_for_the_plugins_that_it_knows(
    guard: bool, level: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "claude" / "settings.json").write_text("{}")
    _with_claude_plugin(machine)
    if guard:
        source = "from hookrouter import hookimpl\n@hookimpl\ndef pre_tool_use_bash(event, tool_input, context): ..."
        write_plugin(machine / "site", "guard", source)
        monkeypatch.setenv("PYTHONPATH", str(machine / "site"))
        monkeypatch.syspath_prepend(machine / "site")
    (found,) = findings("settings")
    assert found.level == level
    assert ("PreToolUse" in found.message) is guard


def test_a_claude_code_plugin_that_is_switched_off_is_none(machine: Path) -> None:
    _with_claude_plugin(machine, value=False)
    assert [finding.level for finding in findings("settings")] == [OK]


def test_a_broken_config_is_an_error_and_names_the_file(machine: Path) -> None:
    configure(machine, "[answer]\nchannels = 3\n")
    (found,) = findings("config")
    assert found.level == ERROR
    assert "channels" in found.message
    assert str(machine / "home" / "config.toml") in found.fix


def test_a_broken_config_says_what_holds_until_it_is_mended(machine: Path) -> None:
    configure(machine, '[plugins.a]\non_error = "closed"\n[plugins.b]\nenabled = false\n')
    assert [finding.level for finding in findings("config")] == [OK]
    configure(machine, '[[agents]]\nid = "chief"\nsesions = ["x"]\n')
    (found,) = findings("config")
    assert "as the last file without problems said" in found.fix
    assert "stay so (fail closed: a and disabled: b)" in found.fix
    assert "defaults hold" not in found.fix
    assert Application.from_environ().config.agents[0].id == "default"


def test_agents_that_never_get_a_session_are_found(machine: Path) -> None:
    configure(
        machine,
        '[[agents]]\nid = "all"\nsessions = ["*"]\n'
        '[[agents]]\nid = "late"\nsessions = ["work-*"]\nworkdirs = ["/not/there"]\n',
    )
    messages = [finding.message for finding in findings("agents") if finding.level == WARNING]
    assert len(messages) == 3
    assert "'late' never gets a session" in messages[0]
    assert "'/not/there'" in messages[1]


PERSON = (
    '[[agents]]\nid = "me"\nkind = "person"\ngateway = "phone"\n[gateways.phone]\ntype = "command"\nargv = ["true"]\n'
)


ALL = '[[agents]]\nid = "all"\n'


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (f"{ALL}{PERSON}", True),
        (f'{ALL}{PERSON}[answer]\nescalate_to = "phone"\n', False),
        (f'{ALL}gateways = ["inbox", "phone"]\n{PERSON}', False),
        (f'[[agents]]\nid = "off"\nenabled = false\ngateways = ["inbox", "phone"]\n{ALL}{PERSON}', True),
    ],
)
def test_an_entry_that_others_hand_on_to_need_get_no_session(machine: Path, text: str, warned: bool) -> None:
    configure(machine, text)
    assert Application.from_environ().config.problems == ()
    messages = [finding.message for finding in findings("agents") if "never gets a session" in finding.message]
    assert messages == (["agent 'me' never gets a session: an earlier one takes them all"] if warned else [])


GATEWAY = '[gateways.chat]\ntype = "command"\nargv = ["true"]\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "an inbox gets no reminders"),
        ('[answer]\nescalate_to = "inbox"\n', "an inbox gets no reminders"),
        (f'[[agents]]\nid = "default"\ngateway = "chat"\n{GATEWAY}[answer]\nremind_after = 0\n', "reminders are off"),
        (f'[[agents]]\nid = "default"\ngateway = "chat"\n{GATEWAY}[answer]\nreminders = 0\n', "reminders are off"),
        (f'[[agents]]\nid = "default"\ngateway = "chat"\n{GATEWAY}', ""),
        (f'{GATEWAY}[answer]\nescalate_to = "chat"\n', ""),
    ],
)
def test_an_agent_of_whose_silence_nobody_is_told_is_found(machine: Path, text: str, why: str) -> None:
    configure(machine, text)
    found = [finding for finding in findings("agents") if finding.level == WARNING]
    said = f"if 'default' does not answer a question, nobody is told: {why}, and [answer] escalate_to names no gateway"
    assert [finding.message for finding in found] == ([f"{said} to a person"] if why else [])
    assert all("set escalate_to in [answer] of" in finding.fix for finding in found)


def test_no_enabled_agent_is_a_warning(machine: Path) -> None:
    configure(machine, '[[agents]]\nid = "off"\nenabled = false\n')
    assert [finding.level for finding in findings("agents")] == [WARNING]


def test_plugins_that_the_breaker_knows_are_named_until_they_are_enabled_again(machine: Path) -> None:
    home = Application.from_environ().home
    for name, outcome, runs in (("inbox", "failed", 5), ("command", "died", 1)):
        for _ in range(runs):
            call = {"plugin": name, "hook": "stop", "ms": 1.0, "outcome": outcome, "error": "boom"}
            circuit_breaker.note(home, circuit_breaker.read(home), [call], Config())
    warnings = [finding for finding in findings("plugins") if finding.level == WARNING]
    assert ["switched off" in finding.message for finding in warnings] == [True, False]
    assert "in a process of its own" in warnings[1].message
    assert [finding.fix.split()[-1] for finding in warnings] == ["inbox", "command"]
    for name in ("inbox", "command"):
        circuit_breaker.reset(home, name)
    assert [finding.level for finding in findings("plugins")] == [OK]


def note(*runs: dict[str, str], on_error: str = "open") -> None:
    home = Application.from_environ().home
    for call in runs:
        config = Config(plugins={call["plugin"]: PluginConfig(on_error=on_error)})
        circuit_breaker.note(home, circuit_breaker.read(home), [{"hook": "stop", "ms": 1.0, **call}], config)


def test_a_guard_that_fails_in_every_run_is_an_error_and_another_plugin_a_warning(machine: Path) -> None:
    failure = {"outcome": "failed", "error": "RuntimeError: boom"}
    configure(machine, '[plugins.inbox]\non_error = "closed"\n')
    note(*[{"plugin": "inbox", **failure}] * 6, on_error="closed")
    note({"plugin": "command", **failure})
    found = {finding.message.split()[1]: finding for finding in findings("plugins") if finding.level != OK}
    assert {name: finding.level for name, finding in found.items()} == {"inbox": ERROR, "command": WARNING}
    for name, finding in found.items():
        assert "failed in stop: RuntimeError: boom" in finding.message
        assert "hookrouter logs" in finding.fix
        assert f"hookrouter plugins info {name}" in finding.fix
    assert "all that it guards is refused" in found["inbox"].message
    note({"plugin": "inbox", "outcome": "none"}, on_error="closed")
    (again,) = (finding for finding in findings("plugins") if "inbox" in finding.message)
    assert (again.level, "works since" in again.message) == (WARNING, True)


def test_a_guard_that_has_ended_its_process_is_called_no_slower_for_it(machine: Path) -> None:
    configure(machine, '[plugins.inbox]\non_error = "closed"\n')
    note({"plugin": "inbox", "outcome": "died", "error": "it was ended by signal 9"}, on_error="closed")
    assert not [finding for finding in findings("plugins") if "in a process of its own" in finding.message]
    note({"plugin": "command", "outcome": "died", "error": "it was ended by signal 9"})
    note({"plugin": "command", "outcome": "failed", "hook": "import", "error": "ImportError: gone"})
    (found,) = (finding for finding in findings("plugins") if "in a process of its own" in finding.message)
    assert "died in stop: it was ended by signal 9" in found.message
    assert "ImportError" not in found.message


def test_what_no_plugin_offers_is_an_error(machine: Path) -> None:
    configure(machine, '[answer]\nchannels = ["telepathy"]\n[gateways.chief]\ntype = "pigeon"\n')
    assert "telepathy" in findings("answering")[0].message
    (error,) = [finding for finding in findings("gateways") if finding.level == ERROR]
    assert error.message.startswith("gateways.chief.type: found 'pigeon'")
    assert "inbox" in error.message
    assert error.fix == f"correct gateways.chief.type in {machine}/home/config.toml:4, or provide what it names"


def test_a_gateway_says_what_is_wrong_with_its_table(machine: Path) -> None:
    configure(machine, '[gateways.chief]\ntype = "command"\n')
    assert [finding.level for finding in findings("gateways")].count(ERROR) == 1


@pytest.mark.parametrize(
    ("look", "level", "message"),
    [
        (lambda: Probe(True, "Pigeon 3 at home"), OK, "chief (pigeon): Pigeon 3 at home"),
        (lambda: Probe(False, "the loft is empty"), WARNING, "chief (pigeon): the loft is empty"),
        (lambda: 1 // 0, WARNING, "chief (pigeon): the plugin's probe failed: ZeroDivisionError"),
    ],
)
def test_a_gateway_that_can_look_says_whether_the_other_side_is_there(
    machine: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[], Probe], level: str, message: str
) -> None:
    class Pigeon(Gateway):
        type = "pigeon"

        def check(self, settings: object) -> list[str]:
            return []

        def deliver(self, wake: object, settings: object) -> None:
            pytest.fail("doctor wakes nobody")

        def probe(self, settings: object) -> Probe:
            return look()

    configure(machine, '[gateways.chief]\ntype = "pigeon"\n')
    inbox = gateways(Application.from_environ().plugins)["inbox"]
    offered = {"pigeon": Pigeon(), "inbox": inbox}
    real = Plugins.contributions

    def contributions(plugins: Plugins, hook: str, key: str = "name", **rest: Any) -> dict[str, Any]:
        return offered if hook == "gateway" else real(plugins, hook, key, **rest)

    monkeypatch.setattr(Plugins, "contributions", contributions)
    (found,) = [finding for finding in findings("gateways") if "chief" in finding.message]
    assert found.level == level
    assert found.message.startswith(message)


def test_a_gateways_program_that_does_not_exist_is_found(machine: Path) -> None:
    configure(machine, '[gateways.wake]\ntype = "command"\nargv = ["/nope/prog"]\n')
    (found,) = (finding for finding in findings("gateways") if finding.level == ERROR)
    assert found.message == "gateways.wake.argv: program not found: /nope/prog"
    assert "gateways.wake.argv" in found.fix


def test_a_table_for_a_plugin_that_is_not_installed_is_found(machine: Path) -> None:
    configure(machine, "[plugins.no-such-plugin]\nenabled = false\n")
    assert any("no-such-plugin" in finding.message for finding in findings("plugins"))


def test_a_file_that_is_no_plugin_by_its_name_is_found(machine: Path) -> None:
    file = Path(Home.from_environ(os.environ).plugins) / "my guard.py"
    file.parent.mkdir(mode=0o700, parents=True)
    file.touch()
    (found,) = (finding for finding in findings("plugins") if finding.level == WARNING)
    assert found.message == f"{file} is no plugin by its name; allowed: letters, digits, - and _"


def test_a_guard_that_cannot_guard_is_found_with_what_mends_it(machine: Path) -> None:
    configure(
        machine,
        '[plugins.lost]\non_error = "closed"\n[plugins.inbox]\nenabled = false\non_error = "closed"\n',
    )
    problems = {finding.message.split()[0]: finding for finding in findings("plugins") if finding.level != OK}
    assert {name: finding.level for name, finding in problems.items()} == {"lost": ERROR, "inbox": WARNING}
    assert "not installed" in problems["lost"].message
    assert "all that it guards is refused" in problems["lost"].message
    assert problems["lost"].fix.startswith("install the plugin lost, or remove [plugins.lost] from ")
    assert "guards nothing" in problems["inbox"].message


def test_two_distributions_with_one_plugin_name_are_found(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("one", "two"):
        folder = machine / "sites" / number
        write_plugin(folder, "twin", "")
        metadata = folder / "twin-1.0.dist-info" / "METADATA"
        metadata.write_text(metadata.read_text().replace("Name: twin", f"Name: twin-{number}"))
        monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(machine / "sites" / name) for name in ("one", "two")))
    (found,) = (finding for finding in findings("plugins") if finding.message.startswith("twin "))
    assert found.level == ERROR
    assert "twin-one, twin-two" in found.message


def test_a_client_that_lets_failures_of_guards_through_is_found(machine: Path, programs: Programs) -> None:
    programs.put(machine / "bin" / "claude", "--version", "2.1.294 (Claude Code)")
    assert [finding.level for finding in findings("client")] == [OK]
    configure(machine, '[plugins.ask-user-question]\non_error = "closed"\n')
    assert [finding.level for finding in findings("client")] == [OK, WARNING]
    assert any("onFailure" in finding.message and finding.level == ERROR for finding in findings("settings"))
    programs.put(machine / "bin" / "claude", "--version", "2.1.295 (Claude Code)")
    assert [finding.level for finding in findings("client")] == [OK]


def test_the_switch_against_compiled_modules_is_found(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert not [finding for finding in findings("speed") if "PYTHONDONTWRITEBYTECODE" in finding.message]
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert findings("speed")[0].level == WARNING
    assert findings("speed")[0].fix == "unset PYTHONDONTWRITEBYTECODE"


@pytest.mark.slow
def test_modules_that_are_not_compiled_are_found_and_the_printed_command_compiles_them(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = machine / "site"
    source = Path(hookrouter.__file__).parent
    shutil.copytree(source, site / "hookrouter", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(hookrouter, "__file__", str(site / "hookrouter" / "__init__.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    write_plugin(site, "guard", _GUARD)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    for _ in range(2):
        (found,) = (finding for finding in findings("speed") if "are not compiled and cannot be" in finding.message)
        assert "hookrouter" in found.message
        assert "guard" in found.message
    interpreter, option, *words = shlex.split(found.fix)
    assert (interpreter, option, words[0]) == (sys.executable, "-m", "compileall")
    monkeypatch.setattr(sys, "argv", words)
    assert compileall.main()
    assert not [finding for finding in findings("speed") if "are not compiled" in finding.message]


def test_a_deleted_working_folder_is_a_warning(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = machine / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found = findings("settings")
    assert [finding.level for finding in found] == [WARNING, OK]
    assert "working folder" in found[0].message
    assert [finding.level for finding in findings("client")] == [OK]


def test_an_open_home_is_found(machine: Path) -> None:
    state = machine / "home" / "state"
    (state / "question-x.json").write_text("{}")
    (state / "question-x.json").chmod(0o644)
    state.chmod(0o755)
    messages = [finding.message for finding in findings("home") if finding.level == WARNING]
    assert len(messages) == 2
    assert "1 file is open to other users: question-x.json" in messages[1]
    assert "0755" in messages[0]
    assert "question-x.json" in messages[1]


def test_a_file_in_the_place_of_the_home_is_an_error(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "plain").write_text("")
    monkeypatch.setenv("HOOKROUTER_HOME", str(machine / "plain" / "home"))
    assert ERROR in [finding.level for finding in findings("home")]


def test_undelivered_messages_and_quarantined_documents_are_found(machine: Path) -> None:
    app = Application.from_environ()
    app.outbox.put(
        Message(
            kind="question",
            agent="chief",
            gateway="inbox",
            session="s",
            session_id="i",
            tool_use_id="t",
            subject="Which one?",
            text="...",
        )
    )
    (waiting,) = findings("outbox")
    assert (waiting.level, waiting.fix) == (WARNING, "hookrouter deliver")
    assert "Which one?" in waiting.message
    assert "waits" in waiting.message
    app.outbox.tries.failed(app.outbox.ids()[0], "no such chat", given_up="fingerprint")
    (given_up,) = findings("outbox")
    assert given_up.level == ERROR
    assert "was given up" in given_up.message
    assert given_up.fix == (
        f"correct [gateways.inbox] in {machine}/home/config.toml, or what it names; then run: "
        f"hookrouter outbox retry {app.outbox.ids()[0]}"
    )
    reason = f"{PLUGIN_FAULT}'pigeon': deliver() of pigeon.Loft returned True, not a SendResult"
    app.outbox.tries.failed(app.outbox.ids()[0], reason, given_up="fingerprint")
    (faulty,) = findings("outbox")
    assert reason in faulty.message
    assert faulty.fix.startswith("update the plugin that provides this gateway type, or report it")
    (machine / "home" / "state" / "question-x.json").write_text("{broken")
    app.store.read("question", "x")
    assert [finding.level for finding in findings("documents")] == [WARNING]


def test_a_check_that_fails_is_a_finding(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such call")

    monkeypatch.setattr(os, "statvfs", broken)
    assert [finding.level for finding in findings("home")][-1] == ERROR


def test_findings_are_plain_data(machine: Path) -> None:
    assert json.loads(json.dumps([finding._asdict() for finding in findings("home")]))[0]["level"] == OK


def _calls(ms: float, *, at: float | None = None, count: int = 20, hook: str = "pre_tool_use_bash") -> None:
    journal = Application.from_environ().journal
    call = {"plugin": "ask-user-question", "hook": hook, "ms": ms, "outcome": "none"}
    for _ in range(count):
        journal.write({"at": iso(at), "event": "PreToolUse", "ms": ms, "pid": 1, "plugins": [call]}, "s-1")


def test_a_plugin_that_keeps_claude_waiting_is_found(machine: Path) -> None:
    _calls(150)
    (finding,) = findings("slow plugins")
    assert finding.level == WARNING
    assert "ask-user-question is slow in pre_tool_use_bash: median 150 ms" in finding.message
    assert "hookrouter stats --plugin ask-user-question" in finding.fix
    assert "raise its timeout" not in finding.fix
    assert "the engine of [storage]" in finding.fix
    assert "disable" not in finding.fix


def test_a_plugin_that_gives_tools_inputs_they_cannot_use_is_found_once(machine: Path) -> None:
    call = {"plugin": "guard", "hook": "pre_tool_use_bash", "ms": 1, "outcome": "replied"}
    warnings = ["guard gives a tool an input that does not fit: cmd: unknown, Bash takes command", "another", 5]
    for _ in range(3):
        record = {"at": iso(), "event": "PreToolUse", "ms": 1, "pid": 1, "plugins": [call], "warnings": warnings}
        Application.from_environ().journal.write(record, "s-1")
    (finding, slow) = findings("slow plugins")
    assert (finding.level, slow.level) == (WARNING, OK)
    assert finding.message.startswith("plugin guard gives a tool an input that does not fit: cmd: unknown")
    assert "tool_input.changed(...)" in finding.fix


def test_a_plugin_that_comes_close_to_its_timeout_is_found(machine: Path) -> None:
    configure(machine, "[plugins.ask-user-question]\ntimeout = 0.1\n")
    _calls(60)
    (finding,) = findings("slow plugins")
    assert "raise its timeout, [plugins.ask-user-question] timeout = 0.2 in " in finding.fix


@pytest.mark.parametrize(
    "calls",
    [
        {"ms": 5},
        {"ms": 150, "count": 3},
        {"ms": 150, "at": 1_700_000_000.0},
    ],
)
def test_quick_rare_and_old_calls_are_no_reason_to_warn(machine: Path, calls: dict[str, float]) -> None:
    _calls(**calls)  # type: ignore[arg-type]
    assert [finding.level for finding in findings("slow plugins")] == [OK]


def test_a_pause_is_told(machine: Path) -> None:
    assert findings("pauses") == []
    begun = begin(Application.from_environ().store, "work", "lunch")
    (found,) = findings("pauses")
    assert (found.level, found.fix) == (WARNING, "hookrouter resume --session work")
    assert found.message.startswith(begun.described())


def test_a_client_whose_hooks_run_is_not_to_be_installed(machine: Path) -> None:
    (machine / "bin" / "claude").unlink()
    assert "npm install" in findings("client")[0].fix
    journal = Application.from_environ().journal
    journal.write({"event": "Stop", "session_id": "s-1", "ms": 1.0, "pid": 1, "outcome": "routed"}, "s-1")
    (found,) = findings("client")
    assert "npm" not in found.fix
    assert "PATH" in found.fix


def test_the_fix_of_a_message_that_a_gateway_fails_is_the_gateway(machine: Path) -> None:
    outbox = Application.from_environ().outbox
    name = outbox.put(Message("question", "main", "inbox", "s", "i", "t", "Which one?", "...")).id
    outbox.tries.begin(name, 30.0)
    with outbox.locks.lane("inbox", "s"):
        assert [found.level for found in findings("outbox")] == [OK]
    outbox.tries.failed(name, "exit code 1: no such module", next_attempt_at="2026-11-22T10:00:00.000Z")
    (found,) = findings("outbox")
    assert found.fix.startswith("fix what [gateways.inbox] in ")
    assert f"hookrouter outbox retry {name}" in found.fix


def test_a_session_that_nobody_manages_is_listed_until_somebody_does(machine: Path) -> None:
    app = Application.from_environ()
    about = {"session": "work-1", "cwd": "/srv", "nearest": "wrok-*"}
    for _ in range(2):
        app.journal.write({"event": "PreToolUse", "session_id": "s-1", "unmanaged": about}, "s-1")
    file = Path(app.home.config_file)
    file.write_text("[[agents]]\nid = 'night'\nsessions = ['wrok-*']\n")
    (found,) = (one for one in findings("agents") if "no agent manages it" in one.message)
    assert found.level == WARNING
    assert "session work-1 in /srv has asked a question, and no agent manages it" in found.message
    assert "wrok-*" in found.message
    file.write_text("[[agents]]\nid = 'night'\nsessions = ['work-*']\n")
    assert not [one for one in findings("agents") if "no agent manages it" in one.message]


def _with_front(machine: Path, front: Front, **changed: str) -> Path:
    """Register a front in place of the plain entries; ``changed`` is replaced in the commands."""
    file = machine / "claude" / "settings.json"
    app = Application.from_environ()
    install(str(file), wanted_registrations(app, front), app.store)
    text = file.read_text()
    for old, new in changed.items():
        text = text.replace({"script": python_front_path(), "folder": app.home.router}[old], new)
    file.write_text(text)
    return file


def test_a_registered_front_is_current(machine: Path) -> None:
    _with_front(machine, Front.PYTHON)
    assert [finding.level for finding in findings("settings")] == [OK]
    assert stale_registrations(Application.from_environ()) == []


def test_a_front_that_is_gone_is_an_error(machine: Path) -> None:
    gone = "/gone/hookrouter/_fronts/python_front.py"
    _with_front(machine, Front.PYTHON, script=gone)
    (found,) = (each for each in findings("settings") if f"the registered front {gone}" in each.message)
    assert (found.level, found.fix) == (ERROR, "hookrouter install")
    assert found.message.endswith("does not exist")
    assert stale_registrations(Application.from_environ()) == ["hookrouter install"]


def test_a_native_front_that_does_not_run_is_an_error(machine: Path, programs: Programs) -> None:
    file = _with_front(machine, Front.PYTHON)
    path = machine / "hookrouter" / "_fronts" / "native"
    programs.put(path, "--protocol", "", 3)
    words = json.dumps(shlex.join(front_words(Front.PYTHON, "/x")[:-1]))[1:-1]
    file.write_text(file.read_text().replace(words, str(path)))
    (found,) = (each for each in findings("settings") if "does not run here" in each.message)
    assert (found.level, found.fix) == (ERROR, "hookrouter install")
    path.chmod(0o644)
    (found,) = (each for each in findings("settings") if f"the registered front {path}" in each.message)
    assert found.message.endswith("is not executable")


def test_a_front_of_another_home_is_an_error(machine: Path) -> None:
    _with_front(machine, Front.PYTHON, folder="/another/state/router")
    (found,) = (each for each in findings("settings") if "the router of another home" in each.message)
    assert (found.level, found.fix) == (ERROR, "hookrouter install")
    assert "/another/state/router" in found.message


def test_two_files_with_different_fronts_run_hooks_twice(machine: Path) -> None:
    app = Application.from_environ()
    local = machine / ".claude" / "settings.local.json"
    install(str(local), wanted_registrations(app, Front.PYTHON), app.store)
    found = findings("settings")
    assert [each.level for each in found] == [OK, OK, WARNING]
    assert "hooks run twice" in found[2].message
    assert found[2].fix == f"hookrouter install --settings {local} --front cold"


@pytest.fixture
def router(machine: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the router of this home says of itself; nothing is wrong with it."""
    status: dict[str, object] = {
        "version": hookrouter.__version__,
        "home": str(machine / "home"),
        "program": script_argv(),
        "since": "2026-01-01T00:00:00+00:00",
        "calls": 5,
        "memory_kb": 40 * 1024,
        "sent_away": {"changed code": 3},
        "died": 0,
        "not_loaded": [],
        "missing_variables": [],
    }
    monkeypatch.setattr(control, "ask", lambda _folder: status)
    return status


def test_a_router_that_is_well_is_told_with_its_calls(router: dict[str, object]) -> None:
    (found,) = findings("router")
    assert found == Finding(OK, "router", "runs since 2026-01-01T00:00:00+00:00: 5 calls, 40 MB")


@pytest.mark.parametrize(
    ("key", "value", "level", "words"),
    [
        ("version", "0.0.1", WARNING, "the router is hookrouter 0.0.1"),
        ("home", "/elsewhere", ERROR, "serves /elsewhere"),
        ("program", ["/other/hookrouter"], WARNING, "another installation, /other/hookrouter"),
        ("sent_away", {"another installation": 2, "changed code": 1}, WARNING, "2 calls were sent away"),
        ("sent_away", {"another PYTHON* variable or character set": 1}, WARNING, "other PYTHON* variables"),
        ("memory_kb", 1024 * 1024, WARNING, "grown to 1024 MB"),
        ("died", 2, WARNING, "2 calls have ended badly"),
        ("missing_variables", ["WAKE_TOKEN"], WARNING, "lacks WAKE_TOKEN"),
    ],
)
def test_what_keeps_a_router_from_serving_is_found(
    router: dict[str, object], key: str, value: object, level: str, words: str
) -> None:
    router[key] = value
    (found,) = findings("router")
    assert found.level == level
    assert words in found.message


def test_modules_that_each_call_loads_are_named(router: dict[str, object]) -> None:
    router["not_loaded"] = ["starts_threads"]
    assert findings("router")[1].message.endswith(": starts_threads")


@pytest.mark.parametrize(
    ("problem", "level"), [(extra_missing("page"), OK), ("127.0.0.1:80: Permission denied", WARNING)]
)
def test_a_page_that_nobody_gets_is_told(router: dict[str, object], problem: str, level: str) -> None:
    router["page"] = {"pid": 0, "url": "", "problem": problem}
    found = findings("router")[1]
    assert (found.level, found.message) == (level, f"no page: {problem}")


def test_an_answer_that_makes_no_sense_is_no_fault_of_doctor(
    router: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "ask", lambda _folder: {"sent_away": 3, "not_loaded": 1, "calls": "\x1b", "page": 1})
    assert {found.level for found in findings("router")} == {WARNING, ERROR}


def test_a_router_that_hangs_is_an_error(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_folder: str) -> None:
        raise control.NotServedError("the router does not answer within 3 s", is_hung=True)

    monkeypatch.setattr(control, "ask", ask)
    (found,) = findings("router")
    assert found.level == ERROR
    assert "waits 2 s" in found.message


def test_without_a_router_doctor_says_what_a_call_does(machine: Path) -> None:
    [found] = findings("router")
    assert found.message.startswith("none runs, so each hook starts its own process; ")
    assert "hookrouter watch" in found.message
    configure(machine, "[serve]\nauto = true\n")
    assert [found.message for found in findings("router")] == ["none runs; the next call starts one"]
    log = machine / "home" / "logs" / "serve.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("2026 hookrouter serve: another router serves this home, /h\n")
    assert findings("router")[0].level == OK
    log.write_text("2026 hookrouter serve: no page: the page needs the extra\n")
    assert findings("router")[0].level == OK
    log.write_text("2026 hookrouter serve: cannot serve: No space left on device\n")
    (found,) = findings("router")
    assert (found.level, found.message.endswith("No space left on device")) == (WARNING, True)


@pytest.mark.linux
def test_a_unit_of_another_installation_or_without_its_socket_is_found(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_router(_folder: str) -> None:
        raise control.NotServedError("no router runs for this home")

    monkeypatch.setattr(control, "ask", no_router)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(machine / "config"))
    home = Home.from_environ(os.environ)
    service(home, os.environ, ["/other/hookrouter"], "linux").write()
    assert "starts another program" in findings("router")[1].message
    unit = service(home, os.environ, script_argv(), "linux")
    unit.write()
    assert "nothing listens" in findings("router")[1].message
    os.makedirs(home.router, mode=0o700)
    # Whether something is there is all that doctor looks at.
    Path(home.router, address.CALLS).touch()
    assert findings("router")[1] == Finding(OK, "router", f"the unit {unit.name} is installed")
    os.unlink(next(path for path in unit.files if path.endswith(".service")))
    assert "is missing" in findings("router")[1].message


def _with_http_hooks(machine: Path, **settings: object) -> None:
    want = next(one for one in wanted_registrations(Application.from_environ()) if one.event == "PermissionRequest")
    hooks = {"PermissionRequest": [one.group() for one in http_registrations([want], "127.0.0.1:9")]}
    (machine / "claude" / "settings.json").write_text(json.dumps({"hooks": hooks, **settings}))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "nothing answers at 127.0.0.1:9"),
        ({"allowedHttpHookUrls": ["http://127.0.0.1/*"]}, "allowedHttpHookUrls matches"),
        ({"allowedHttpHookUrls": []}, "allowedHttpHookUrls matches"),
        ({"env": {"HTTP_PROXY": "http://proxy:1"}}, "HTTP_PROXY is set"),
        ({"env": {"HOOKROUTER_TOKEN": ""}}, "HOOKROUTER_TOKEN is not set"),
    ],
)
def test_what_keeps_http_hooks_from_arriving_is_found(
    machine: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], words: str
) -> None:
    def refuse(_connection: http.client.HTTPConnection) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(http.client.HTTPConnection, "connect", refuse)
    assert findings("http hooks") == []
    monkeypatch.setenv("HOOKROUTER_TOKEN", "t")
    configure(machine, '[serve]\nhttp = "127.0.0.1:9"\n')
    _with_http_hooks(machine, **settings)
    found = [one.message for one in findings("http hooks")]
    assert any(words in message for message in found), found
    assert len(found) == 1 + bool(settings)


def test_http_hooks_of_an_old_client_and_another_address_are_found(
    machine: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKROUTER_TOKEN", "t")
    programs.put(machine / "bin" / "claude", "--version", "2.1.62 (Claude Code)")
    _with_http_hooks(machine, env={"HTTP_PROXY": "http://proxy:1", "NO_PROXY": "127.0.0.1"})
    messages = [one.message for one in findings("http hooks")]
    assert len(messages) == 2
    assert "is not at the address" in messages[0]
    assert "2.1.62 is older than 2.1.63" in messages[1]


@pytest.fixture
def modded(machine: Path, router: dict[str, object]) -> dict[str, object]:
    """What the router says of itself, in a home with the mod; nothing is wrong with it."""
    configure(machine, "[serve]\nmod = true\n")
    app = Application.from_environ()
    folder = write_mod(app.home, current_files(app))
    path = machine / "claude" / "settings.json"
    install(str(path), wanted_registrations(app, Front.MOD), app.store, mod_folder=folder)
    router["gate"] = {"pid": 7, "http": "", "mod": True, "ended": ""}
    return router


def test_a_mod_that_is_current_and_served_is_well(modded: dict[str, object]) -> None:
    assert findings("mod") == [Finding(OK, "mod", "is current, and the router takes its calls")]
    assert {found.level for found in findings("settings")} == {OK}


def test_without_the_mod_nothing_is_said_of_it(machine: Path) -> None:
    assert findings("mod") == []


def test_what_keeps_the_mod_from_its_work_is_found(
    modded: dict[str, object], machine: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> str:
        (one,) = findings("mod")
        assert one.level == WARNING
        assert one.fix
        return one.message

    bridge = Path(mod_folder(Home.from_environ(os.environ)), "hooks", "bridge.js")
    text = bridge.read_text()
    bridge.write_text(text + "//")
    assert "bridge.js is not what the plugins of now need" in found()
    bridge.unlink()
    assert "bridge.js is not" in found()
    bridge.write_text(text)
    modded["gate"] = None
    assert "the router has no gate for it: processes handle all" in found()
    modded["gate"] = {"pid": 0, "http": "", "mod": True, "ended": "exit code 9"}
    assert "(exit code 9)" in found()
    configure(machine, "")
    assert "[serve] mod is not true" in found()
    configure(machine, "[serve]\nmod = true\n")
    programs.put(machine / "bin" / "claude", "--version", "2.1.286 (Claude Code)")
    messages = [one.message for one in findings("mod")]
    assert any("2.1.286 is older than 2.1.287" in message for message in messages)


def test_the_mod_of_another_home_is_an_error(
    modded: dict[str, object], machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = machine / "claude" / "settings.json"
    path.write_text(path.read_text().replace(mod_folder(Home.from_environ(os.environ)), "/elsewhere/mod"))
    (found,) = findings("mod")
    assert (found.level, "another home, in /elsewhere/mod" in found.message) == (ERROR, True)
