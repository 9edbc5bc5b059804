"""`hookrouter config` and what `hookrouter plugins` does beside listing, on a home of its own with two plugins more."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from hookrouter._config.schema import TABLES, schema
from hookrouter._diagnostics.doctor import examine
from hookrouter._isolation import circuit_breaker
from hookrouter.cli.application import Application
from hookrouter.cli.main import main
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.testing.plugins import write_plugin

GUARD = """
from __future__ import annotations

import attrs
from hookrouter import hookimpl


@attrs.frozen
class GuardSettings:
    deny: tuple[str, ...] = attrs.field(default=("rm",), metadata={"help": "commands that are refused"})
    api_token: str = ""


class Guard:
    @hookimpl
    def plugin_settings(self):
        return GuardSettings

    @hookimpl(tryfirst=True)
    def pre_tool_use_bash(self, event, tool_input, context):
        return None

    @hookimpl(wrapper=True)
    def stop(self, event, context):
        return (yield)
"""
PARTS = """
from hookrouter import Command, hookimpl


@hookimpl
def cli_commands():
    return [Command("greet", "Say hello.", "nowhere:greet")]


class Puzzle:
    name = "puzzle"


@hookimpl
def dialog_kinds():
    return [Puzzle()]


@hookimpl
def gateway():
    raise ValueError("no gateway here")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_plugin(folder, "guard", GUARD, attribute="Guard")
    write_plugin(folder, "parts", PARTS)
    return folder


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Path:
    """The cache folder of one scan for plugins, which takes seconds."""
    home = tmp_path_factory.mktemp("scanned")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.setenv("PYTHONPATH", str(site))
        Application.from_environ({**os.environ, "HOOKROUTER_HOME": str(home)})
    return home / "cache"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Path, scanned: Path) -> Path:
    """The config.toml of a home in which no more plugins need to be looked for."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copytree(scanned, home / "cache")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("HOOKROUTER_HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(tmp_path)
    return home / "config.toml"


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Result:
        code = main(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(code, captured.out, captured.err)

    return call


BROKEN = """\
# mine
[[agents]]
id = "a"
sesions = ["x"]

[plugins.guard]
on_error = [
  "closed",
]
"""


KEYS_OF_AN_AGENT = "allowed: id, sessions, workdirs, enabled, gateway, gateways, fallback_after, kind, wake_on"


def test_check_tells_all_problems_with_their_lines(file: Path, run: Any) -> None:
    file.write_text(BROKEN)
    done = run("config", "check")
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{file}:4: error: agents[0].sesions: unknown key, did you mean 'sessions'?; {KEYS_OF_AN_AGENT}",
        f'{file}:7: error: plugins.guard.on_error: found a list; allowed: "open" or "closed"',
    ]
    report = run("config", "check", "--json").json
    assert report["ok"] is False
    assert report["problems"][0] | {"message": "", "allowed": ""} == {
        "level": "error",
        "line": 4,
        "key": "agents[0].sesions",
        "message": "",
        "found": "sesions",
        "allowed": "",
        "suggestion": "sessions",
    }


def test_check_tells_where_a_text_is_no_toml(file: Path, run: Any) -> None:
    file.write_text("# fine\n\nx [\n")
    (problem,) = run("config", "check", "--json").json["problems"]
    assert problem["line"] == 3
    assert problem["message"].startswith("not TOML: ")


def test_check_compares_names_and_settings_with_what_is_installed(file: Path, run: Any) -> None:
    file.write_text(
        '[answer]\nplanner = "gramar"\n[gateways.chat]\ntype = "webhok"\n[gateways.cmd]\ntype = "command"\n'
        '[plugins]\norder = ["guard", "gard"]\n[plugins.gone]\n[plugins.guard.settings]\ndeny = "x"\n'
    )
    done = run("config", "check", "--json")
    assert done.code == 1
    found = {problem["key"]: problem for problem in done.json["problems"]}
    assert {key: (one["level"], one["line"], one["suggestion"]) for key, one in found.items()} == {
        "answer.planner": ("error", 2, "grammar"),
        "gateways.chat.type": ("error", 4, "webhook"),
        "gateways.cmd.argv": ("error", 5, ""),
        "plugins.guard.settings.deny": ("error", 11, ""),
        "plugins.order[1]": ("warning", 8, "guard"),
        "plugins.gone": ("warning", 9, ""),
    }


def test_an_agent_hears_of_the_kinds_that_plugins_contribute(file: Path, run: Any) -> None:
    file.write_text('[[agents]]\nid = "a"\nwake_on = ["question", "plan", "puzzle", "*"]\n')
    assert run("config", "check").code == 0
    file.write_text('[[agents]]\nid = "a"\nwake_on = [\n"puzle",\n"blocked"]\n')
    done = run("config", "check", "--json")
    [problem] = done.json["problems"]
    assert (done.code, problem["key"], problem["suggestion"]) == (1, "agents[0].wake_on[0]", "puzzle")
    assert "no active plugin offers it" in problem["message"]
    file.write_text('[[agents]]\nid = "a"\nwake_on = ["Plan"]\n')
    [problem] = run("config", "check", "--json").json["problems"]
    assert """found 'Plan'; allowed: "*" for all dialogs, question, permission, plan,""" in problem["message"]


def test_a_missing_plugin_that_fails_closed_is_an_error(file: Path, run: Any) -> None:
    """Its absence refuses each call."""
    file.write_text('[plugins.bash-gard]\non_error = "closed"\n[plugins.gone]\nenabled = false\non_error = "closed"\n')
    done = run("config", "check", "--json")
    found = {problem["key"]: (problem["level"], problem["message"]) for problem in done.json["problems"]}
    assert done.code == 1
    assert found["plugins.bash-gard"][0] == "error"
    assert "as it fails closed, calls are refused" in found["plugins.bash-gard"][1]
    assert found["plugins.gone"][0] == "warning"


def test_a_warning_alone_and_nothing_at_all_are_not_wrong(file: Path, run: Any) -> None:
    assert run("config", "check").out == f"no {file}: the defaults hold\n"
    file.write_text("[plugins.gone]\n")
    assert run("config", "check").code == 0
    file.write_text("[plugins.guard.settings]\ndeny = []\n")
    done = run("config", "check")
    assert (done.code, done.out) == (0, f"{file}: nothing is wrong\n")


def test_a_file_that_cannot_be_read_is_an_error_of_its_own(file: Path, run: Any) -> None:
    file.mkdir()
    for command in ("check", "show"):
        done = run("config", command)
        assert done.code == 2
        assert f"{file}: cannot be read" in done.err


@pytest.mark.parametrize(
    "table",
    [
        '[storage]\nengine = "postgresql"\ndsn_env = "host=x password=hunter2"',
        '[storage]\nengine = "postgresql"\ndsn_env = "postgresql://me:hunter2@host/x"',
        '[storage]\nengine = "postgresql"\ndsn_file = "host=x password=hunter2"',
        '[storage]\nengine = "postgresql"\ndsn = "host=x password=hunter2"',
        '[storage]\nengine = "postgresql"\ndatabase_env = "host=x password=hunter2"',
        '[storage]\nengine = "postgresql"\ndsn_env = ["hunter2"]',
        '[page]\nsecret_file = "hunter2"',
        '[monitor]\ntoken_env = "hunter2 "',
        '[gateways.w]\ntype = "webhook"\nurl_env = "https://host/hunter2"',
        '[gateways.w]\ntype = "webhook"\nurl = "https://host"\nsecret_env = "hunter2!"',
        '[gateways.w]\ntype = "webhook"\nurl = "https://host"\nheaders = { Authorization_env = "Bearer hunter2" }',
        '[gateways.w]\ntype = "webhook"\nurl = "https://host/$key"\nsecrets = { key_env = "hunter2!" }',
        '[gateways.w]\ntype = "webhook"\nurl = "https://host/$key"\nsecrets = { key_file = "hunter2" }',
        '[gateways.w]\ntype = "command"\nargv = ["a"]\nset = { KEY_env = "hunter2!" }',
    ],
)
def test_a_secret_in_the_place_of_its_place_is_shown_nowhere(file: Path, run: Any, table: str) -> None:
    file.write_text(table + "\n")
    for words in (("config", "check"), ("config", "show"), ("storage", "check"), ("doctor",), ("questions",)):
        for more in ((), ("--json",)):
            done = run(*words, *more)
            assert "hunter2" not in done.out + done.err, words
            assert words != ("config", "check") or done.code == 1
    for path in (path for path in file.parent.rglob("*") if path.is_file() and path != file):
        # What a plugin alone can judge is kept as it is, for this user alone.
        assert b"hunter2" not in path.read_bytes() or path.name.startswith("config-"), path
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("secret", "mode", "said"),
    [
        (None, 0, "cannot be read: No such file or directory"),
        ("x" * 31, 0o600, "is too short; allowed: 32 characters or more"),
        ("x" * 32, 0o644, "run: chmod 600"),
    ],
)
def test_a_page_to_which_nobody_can_log_in_is_told(
    file: Path, run: Any, secret: str | None, mode: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = file.parent / "page.secret"
    if secret is not None:
        place.write_text(secret)
        place.chmod(mode)
    file.write_text(f'[page]\nsecret_file = "{place}"\n')
    done = run("config", "check")
    assert (done.code, done.out.count(said)) == (0, 1)
    assert done.out.startswith(f"{file}:2: warning: page.secret_file: ")
    assert "nobody can log in to the page: [page] secret_file: " in run("doctor").out
    monkeypatch.setattr("hookrouter_page.command._problem", lambda _app: "")
    done = run("open", "--no-browser")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("hookrouter open: [page] secret_file: ")
    assert said in done.err
    place.write_text("x" * 32)
    place.chmod(0o600)
    assert run("config", "check").out.endswith("nothing is wrong\n")
    assert run("open", "--no-browser").code == 0
    assert "nobody can log in" not in run("doctor").out


@pytest.mark.parametrize(
    ("table", "make", "key", "said"),
    [
        ('[monitor]\naddress = "127.0.0.1:1"\ntoken_file = "{odd}"', None, "monitor.token_file", "cannot be read"),
        ('[monitor]\naddress = "127.0.0.1:1"\ntoken_file = "{odd}"', os.mkfifo, "monitor.token_file", "is not a file"),
        ('[page]\ncertificate = "{odd}"\nprivate_key = "{odd}"', None, "page.certificate", "No such file"),
        ('[page]\ncertificate = "{odd}"\nprivate_key = "{odd}"', os.mkfifo, "page.certificate", "is not a file"),
        ('[page]\ncertificate = "/dev/null"\nprivate_key = "{odd}"', None, "page.certificate", "is not a file"),
        ('[page]\ncertificate = "{config}"\nprivate_key = "{odd}"', None, "page.private_key", "No such file"),
    ],
)
def test_a_file_that_a_resident_process_needs_and_cannot_use_is_told(
    file: Path, run: Any, table: str, make: Any, key: str, said: str
) -> None:
    odd = file.parent / "odd"
    if make is not None:
        make(odd)
    file.write_text(table.format(odd=odd, config=file) + "\n")
    done = run("config", "check")
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert f": warning: {key}: " in done.out
    assert said in done.out
    assert said in run("doctor").out


def test_rules_that_claude_code_does_not_ask_are_told(file: Path, run: Any) -> None:
    rule = '[[agents]]\nid = "a"\n[answer]\nescalate_to = "i"\n[gateways.i]\ntype = "inbox"\n[[approvals.rules]]\n'
    file.write_text(f'{rule}tool = "Bash(rm:*)"\ndecide = "deny"\n')
    done = run("config", "check")
    said = f"{file}:7: warning: approvals.rules: not every rule holds: "
    assert said in done.out
    assert "hookrouter is not registered; run: hookrouter install" in done.out
    assert run("install").code == 0
    assert said not in run("config", "check").out
    off = f"{file.read_text()}[plugins.rules]\nenabled = false\n"
    file.write_text(off)
    assert "approvals.rules: the plugin rules is switched off" in run("config", "check").out
    file.write_text(off.replace("deny", "allow"))
    assert "switched off" not in run("config", "check").out
    file.write_text(off.partition("[plugins.rules]")[0])
    file.write_text(f'{file.read_text()}[[approvals.rules]]\ntool = "WebFetch"\ndecide = "deny"\n')
    assert said in run("config", "check").out
    assert run("install").code == 0
    assert said not in run("config", "check").out


def test_what_claude_code_refuses_itself_follows_the_rules(
    file: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = '[[agents]]\nid = "a"\n[approvals]\nmirror = true\n[[approvals.rules]]\ndecide = "deny"\ntool = '
    file.write_text(f'{config}"Bash(rm:*)"\n')
    path = file.parent / "settings.json"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(path.parent))
    assert run("install").code == 0
    assert json.loads(path.read_text())["permissions"] == {"deny": ["Bash(rm:*)"]}
    assert "permissions.deny" not in run("doctor").out
    file.write_text(f'{config}"Bash(mv:*)"\n')
    said = run("doctor").out
    assert f"{path}: permissions.deny lacks Bash(mv:*), for [approvals] mirror" in said
    assert f"{path}: permissions.deny still has Bash(rm:*), for [approvals] mirror" in said
    assert run("install").code == 0
    assert json.loads(path.read_text())["permissions"] == {"deny": ["Bash(mv:*)"]}
    # Nothing is known of what a broken file would have refused.
    file.write_text("[[agents]\n")
    assert run("install").code == 0
    assert json.loads(path.read_text())["permissions"] == {"deny": ["Bash(mv:*)"]}
    assert run("uninstall").code == 0
    assert not path.exists()


def test_show_says_that_the_storage_does_not_hold(file: Path, run: Any) -> None:
    file.write_text('[storage]\nengine = "postgresql"\ndsn_env = "DSN"\npool = 1000\n')
    done = run("config", "show")
    assert done.code == 1
    assert "# not used: config.toml: storage.pool: found 1000; allowed: " in done.out
    assert run("config", "show", "--json").json["problems"][0].startswith("config.toml: storage.pool: found 1000")
    file.write_text('[storage]\nengine = "postgresql"\ndsn_env = "DSN"\n')
    assert run("config", "show").code == 0


def test_the_storage_commands_say_that_the_file_before_counts(file: Path, run: Any) -> None:
    file.write_text('[storage]\nengine = "postgresql"\ndsn_file = "/nowhere"\n')
    assert "has problems" not in run("storage", "check").err
    file.write_text('[storage]\nengine = "postgresql"\ndsn_env = "DSN"\n[answer]\nwait = "x"\n')
    done = run("storage", "check")
    assert done.code
    assert f"{file} has problems, so [storage] is what the last file without any said" in done.err
    assert "dsn_file: /nowhere cannot be read" in done.out + done.err


def test_show_says_where_each_value_comes_from(file: Path, run: Any) -> None:
    file.write_text(
        '[[agents]]\nid = "a"\n[gateways.w]\ntype = "webhook"\nheaders = { Authorization_env = "NAME" }\n'
        'secret_env = "SIGN"\n[plugins.guard]\ntimeout = 3\n[plugins.guard.settings]\napi_token = "hunter2"\n'
    )
    done = run("config", "show")
    assert done.code == 0
    assert done.out.splitlines()[0] == f"# {file} (HOOKROUTER_HOME)"
    assert 'agents[0].id = "a"' in done.out
    assert "plugins.guard.timeout = 3.0 " in done.out
    assert 'gateways.w.secret_env = "SIGN"' in done.out
    assert "answer.wait" not in done.out
    assert "hunter2" not in done.out
    values = {value["key"]: value for value in run("config", "show", "--all", "--json").json["values"]}
    assert values["agents[0].id"] == {"key": "agents[0].id", "value": "a", "source": "config.toml", "line": 2}
    assert values["plugins.guard.settings.api_token"] == {
        "key": "plugins.guard.settings.api_token",
        "value": "(hidden)",
        "source": "config.toml",
        "line": 10,
    }
    assert values["plugins.guard.settings.deny"]["value"] == ["rm"]
    assert values["plugins.guard.settings.deny"]["source"] == "plugin default"
    assert (values["answer.wait"]["source"], values["answer.wait"]["line"]) == ("default", None)


def test_show_leaves_out_no_key_that_there_is(file: Path, run: Any) -> None:
    file.write_text('[[agents]]\nid = "a"\n[[scripts]]\nevent = "Stop"\ncommand = "true"\n')
    keys = {value["key"] for value in run("config", "show", "--all", "--json").json["values"]}
    tables = {table.header: [key.name for key in table.keys] for table in schema()}
    for table in TABLES.keys() - {"agents", "gateways", "scripts", "plugins"}:
        assert {f"{table}.{name}" for name in tables[f"[{table}]"]} <= keys
    assert {f"plugins.guard.{name}" for name in tables["[plugins.NAME]"]} - keys == {"plugins.guard.settings"}
    # One gateway has its name under gateway, several have theirs under gateways.
    assert {f"agents[0].{name}" for name in tables["[[agents]]"]} - keys == {"agents[0].gateways"}
    assert {f"scripts[0].{name}" for name in tables["[[scripts]]"]} <= keys
    # Those of plugins that have tables of their own, too.
    assert {key.partition(".")[0].partition("[")[0] for key in keys} == {*TABLES, "page", "monitor"}
    assert {"page.login_days", "monitor.traces"} <= keys


def test_show_does_not_pretend_that_a_broken_file_holds(file: Path, run: Any) -> None:
    file.write_text('[answer]\nwait = 5\n[plugins.guard]\non_error = "closed"\n[agents]\n')
    done = run("config", "show", "--all", "--json")
    assert done.code == 1
    assert done.json["problems"] == ["config.toml: agents: found a table; allowed: a list of tables"]
    values = {value["key"]: value for value in done.json["values"]}
    assert (values["answer.wait"]["value"], values["answer.wait"]["source"]) == (86400.0, "default")
    assert values["plugins.guard.on_error"] == {
        "key": "plugins.guard.on_error",
        "value": "closed",
        "source": "last good file",
        "line": None,
    }


def test_show_and_info_give_the_defaults_of_a_plugin_whose_settings_are_wrong(file: Path, run: Any) -> None:
    file.write_text('[plugins.guard.settings]\ndeny = ["x"]\nlimit = 3\n')
    values = {value["key"]: value for value in run("config", "show", "--all", "--json").json["values"]}
    assert values["plugins.guard.settings.deny"]["value"] == ["rm"]
    assert values["plugins.guard.settings.deny"]["source"] == "plugin default"
    done = run("plugins", "info", "guard", "--json")
    assert done.code == 1
    assert done.json["problems"] == ["plugins.guard.settings.limit: unknown key; allowed: deny, api_token"]
    assert done.json["settings"][0]["value"] == ["rm"]
    listed = {each["name"]: each for each in run("plugins", "list", "--json").json}
    assert listed["guard"]["problems"] == done.json["problems"]
    assert "settings are wrong, the defaults hold: plugins.guard.settings.limit" in run("plugins", "list").out
    findings = [finding for finding in examine(Application.from_environ()) if finding.check == "plugins"]
    assert any("plugins.guard.settings.limit" in finding.message for finding in findings)


def test_info_shows_hooks_settings_and_contributions(file: Path, run: Any) -> None:
    file.write_text('[plugins.guard.settings]\ndeny = ["x"]\napi_token = "hunter2"\n')
    done = run("plugins", "info", "guard", "--json")
    assert done.code == 0
    told = done.json
    assert (told["distribution"], told["version"], told["entry_point"]) == ("guard", "1.0", "guard:Guard")
    assert (told["status"], told["enabled"], told["on_error"], told["timeout"]) == ("active", True, "open", 10.0)
    assert {hook["name"]: hook["options"] for hook in told["hooks"]} == {
        "plugin_settings": [],
        "pre_tool_use_bash": ["tryfirst"],
        "stop": ["wrapper"],
    }
    assert told["settings_class"] == "guard:GuardSettings"
    assert told["settings"] == [
        {
            "key": "deny",
            "type": "list of texts",
            "required": False,
            "default": ["rm"],
            "value": ["x"],
            "source": "config.toml",
            "line": 2,
            "help": "commands that are refused",
        },
        {
            "key": "api_token",
            "type": "text",
            "required": False,
            "default": "(hidden)",
            "value": "(hidden)",
            "source": "config.toml",
            "line": 3,
            "help": "",
        },
    ]
    parts = run("plugins", "info", "parts", "--json").json
    assert parts["contributions"] == [
        {"hook": "cli_commands", "names": ["greet"], "error": "", "keys": []},
        {"hook": "dialog_kinds", "names": ["puzzle"], "error": "", "keys": []},
        {"hook": "gateway", "names": [], "error": "ValueError: no gateway here", "keys": []},
    ]
    shown = run("plugins", "info", "guard").out
    assert "pre_tool_use_bash (tryfirst)" in shown
    assert 'deny = ["x"]  [list of texts; config.toml:2]\n      commands that are refused' in shown
    assert "contributes cli_commands: greet" in run("plugins", "info", "parts").out
    (contributed,) = run("plugins", "info", "command", "--json").json["contributions"]
    assert contributed["keys"][0]["key"] == "argv"
    shown = run("plugins", "info", "command").out
    assert "argv = required  [list of texts; in [gateways.NAME]]\n      the program and its arguments" in shown
    waits = run("plugins", "info", "hook-reply", "--json").json["hooks"]
    assert {"name": "pre_tool_use_ask_user_question", "options": [], "waits": 86400.0, "setting": "headless"} in waits


@pytest.mark.parametrize("command", ["info", "enable", "disable", "order"])
def test_an_unknown_plugin_comes_with_the_one_that_was_meant(file: Path, run: Any, command: str) -> None:
    done = run("plugins", command, "gaurd")
    assert done.code == 2
    assert "there is no plugin 'gaurd'; did you mean 'guard'?" in done.err
    assert not file.exists()


def test_a_plugin_is_switched_off_and_on_and_the_rest_of_the_file_stays(file: Path, run: Any) -> None:
    text = "# mine\n[plugins.guard] # the guard\ntimeout = 3 # short\n\n[answer]\nwait = 5\n"
    file.write_text(text)
    file.chmod(0o644)
    done = run("plugins", "disable", "guard", "--json")
    assert (done.code, done.json["changed"], done.json["status"], done.json["run"]) == (0, True, "disabled", [])
    assert file.read_text() == text.replace("# the guard\n", "# the guard\nenabled = false\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("plugins", "disable", "guard").out == "guard: was disabled\n"
    assert run("plugins", "enable", "guard").out == f"guard: enabled in {file}\n"
    assert file.read_text() == text.replace("# the guard\n", "# the guard\nenabled = true\n")


def test_the_first_change_makes_the_file(file: Path, run: Any) -> None:
    assert run("plugins", "enable", "guard").out == "guard: was enabled\n"
    assert not file.exists()
    assert run("plugins", "disable", "guard").code == 0
    assert file.read_text() == "[plugins.guard]\nenabled = false\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_to_the_file_stays_a_link(file: Path, run: Any, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.write_text("# kept\n")
    file.symlink_to(kept)
    assert run("plugins", "disable", "guard").code == 0
    assert file.is_symlink()
    assert kept.read_text() == "# kept\n\n[plugins.guard]\nenabled = false\n"


def test_a_link_that_leads_nowhere_is_no_missing_file(file: Path, run: Any, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "config.toml").write_text('[plugins.guard]\non_error = "closed"\n')
    file.symlink_to(disk / "config.toml")
    assert run("config", "check").code == 0
    disk.rename(tmp_path / "unmounted")
    said = f"{file}: cannot be read: it is behind a link that leads nowhere"
    for command in ("check", "show"):
        done = run("config", command)
        assert (done.code, said in done.err) == (2, True)
    assert "a link that leads nowhere" in run("plugins", "disable", "parts").err
    assert "cannot be read" in run("init", "--guards").err
    [found] = [finding for finding in examine(Application.from_environ()) if finding.check == "config"]
    assert (found.level, said in found.message) == ("error", True)
    assert not disk.exists()
    assert Application.from_environ().config.plugin("guard").on_error == "closed"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x [\n", "not TOML"),
        (BROKEN, "agents[0].sesions: unknown key"),
        ("plugins = 3\n", "write it yourself: plugins.guard.enabled = false"),
        ("\xff", "not UTF-8"),
    ],
)
def test_a_broken_file_is_refused_and_left_alone(file: Path, run: Any, text: str, said: str) -> None:
    file.write_bytes(text.encode("latin-1"))
    done = run("plugins", "disable", "guard")
    assert done.code == 2
    assert said in done.err
    assert file.read_bytes() == text.encode("latin-1")
    assert os.listdir(file.parent).count("config.toml") == 1


def test_the_command_is_told_that_brings_settings_json_up_to_date(file: Path, run: Any, tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    assert run("install").code == 0
    assert run("plugins", "disable", "parts", "--json").json["run"] == []
    assert run("plugins", "disable", "guard", "--json").json["run"] == ["hookrouter install"]
    assert run("install").code == 0
    done = run("plugins", "enable", "guard")
    assert "run now, so that Claude Code knows: hookrouter install" in done.out


def test_enabling_calls_a_plugin_again_that_was_switched_off(file: Path, run: Any) -> None:
    home = Home.in_folder(str(file.parent))
    broken = {"failures": 5, "error": "boom in stop", "at": 2e9, "until": 2e9, "told": True, "left": {}}
    Store(home.state, pytest.fail).write("plugins", "health", {"version": 1, "plugins": {"guard": broken}})
    off = next(each for each in run("plugins", "list", "--json").json if each["name"] == "guard")["switched_off"]
    assert (off["failures"], off["error"]) == (5, "boom in stop")
    assert "switched off: " in run("plugins", "list").out
    assert run("plugins", "info", "guard").code == 1
    done = run("plugins", "enable", "guard", "--json")
    assert (done.json["reset"], done.json["changed"]) == (True, False)
    assert circuit_breaker.read(home) == {}
    assert done.json["forgotten"] is True
    again = run("plugins", "enable", "guard", "--json").json
    assert (again["reset"], again["forgotten"]) == (False, False)


def test_plugins_may_be_called_last(file: Path, run: Any) -> None:
    done = run("plugins", "order", "--last", "guard", "--json")
    assert (done.code, done.json["order"], done.json["last"], done.json["plugins"][-1]) == (0, [], ["guard"], "guard")
    assert 'last = ["guard"]' in file.read_text()
    both = run("plugins", "order", "guard")
    assert both.code == 2
    assert "a plugin in order or in last, not in both" in both.err
    assert run("plugins", "order", "--last", "--clear", "--json").json["last"] == []


def test_the_order_is_shown_and_set(file: Path, run: Any) -> None:
    before = run("plugins", "order", "--json").json
    assert before["order"] == []
    assert before["plugins"] == sorted(before["plugins"])
    done = run("plugins", "order", "parts", "guard", "--json")
    assert (done.code, done.json["order"], done.json["plugins"][:2]) == (0, ["parts", "guard"], ["parts", "guard"])
    assert file.read_text() == '[plugins]\norder = ["parts", "guard"]\n'
    assert [each["name"] for each in run("plugins", "list", "--json").json][:2] == ["parts", "guard"]
    assert run("plugins", "order").out.splitlines()[:2] == ["  1  parts  (config.toml)", "  2  guard  (config.toml)"]
    assert run("plugins", "order", "--clear", "--json").json["order"] == []
    twice = run("plugins", "order", "guard", "guard")
    assert (twice.code, "named twice" in twice.err) == (2, True)
    assert run("plugins", "order", "guard", "--clear").code == 2


def test_an_order_with_a_mistake_can_be_mended_by_setting_it(file: Path, run: Any) -> None:
    file.write_text('[plugins]\norder = ["guard", "guard"] # mine\n')
    assert run("plugins", "order", "guard").code == 0
    assert file.read_text() == '[plugins]\norder = ["guard"] # mine\n'


def test_names_in_the_order_that_are_not_installed_are_found(file: Path, run: Any) -> None:
    file.write_text('[plugins]\norder = ["gone", "guard"]\n')
    findings = [finding for finding in examine(Application.from_environ()) if finding.check == "plugins"]
    (found,) = [finding for finding in findings if "plugins.order[0]" in finding.message]
    assert found.level == "warning"
    assert "'gone'" in found.message
    assert "gone: in config.toml, but not installed" in run("plugins", "order").out


def test_a_guard_with_wrong_settings_is_broken_with_what_mends_it(file: Path, run: Any) -> None:
    file.write_text('[plugins.guard]\non_error = "closed"\n[plugins.guard.settings]\ndeny = 1\n')
    listed = {each["name"]: each for each in run("plugins", "list", "--json").json}
    assert listed["guard"]["status"] == "broken"
    assert listed["guard"]["reason"] == "plugins.guard.settings.deny: found 1; allowed: a list of texts"
    assert listed["guard"]["fix"] == f"correct [plugins.guard.settings] in {file} (hookrouter config check)"
    assert run("plugins", "info", "guard").code == 1


def test_a_plugin_that_is_not_installed_can_be_switched_off(file: Path, run: Any) -> None:
    file.write_text('[plugins.gone]\non_error = "closed"\n')
    done = run("plugins", "disable", "gone", "--json")
    assert (done.code, done.json["status"]) == (0, "not installed")
    assert file.read_text() == '[plugins.gone]\nenabled = false\non_error = "closed"\n'
    assert run("plugins", "info", "gone").code == 2


@pytest.mark.parametrize(
    "arguments",
    [("config", "check"), ("config", "show"), *(("plugins", name) for name in ("info", "enable", "disable", "order"))],
)
def test_help_pages_have_examples_and_exit_codes(run: Any, arguments: tuple[str, ...]) -> None:
    page = run(*arguments, "--help").out
    assert f"  hookrouter {' '.join(arguments)}" in page
    assert "Exit codes:" in page
    assert "--json" in page


MISTAKES = """
[[agents]]
id = "night"
session = ["work-*"]
gateway = "scrpt"

[[agents]]
id = "day"
gateway = "phone"

[gateways.script]
type = "comand"
argv = "python agent.py"

[gateways.other]
type = "command"
argv = "python agent.py"
timeout = "60"

[gateways.phone]
token = "geheim"

[answr]
wait = 10

[answer]
channels = ["rply", 3]
planner = "gramar"

[plugins.guard]
enabled = true
timeot = 3
[plugins.guard.settings]
dny = ["x"]
"""


def test_every_mistake_is_named_in_one_go(file: Path, run: Any) -> None:
    file.write_text(MISTAKES)
    done = run("config", "check", "--json")
    code, out = done.code, done.out
    assert code == 1
    found = {problem["key"]: problem for problem in json.loads(out)["problems"]}
    assert found["agents[0].session"]["suggestion"] == "sessions"
    assert found["agents[0].gateway"]["suggestion"] == "script"
    assert found["gateways.script.type"]["suggestion"] == "command"
    assert "gateways.other.argv" in found
    assert "gateways.other.timeout" in found
    assert "gateways.phone" in found or "gateways.phone.token" in found
    assert found["answr"]["suggestion"] == "answer"
    assert found["answer.planner"]["suggestion"] == "grammar"
    assert "answer.channels[1]" in found
    assert found["plugins.guard.timeot"]["suggestion"] == "timeout"
    assert found["plugins.guard.settings.dny"]["suggestion"] == "deny"
    # A table with a mistake is there all the same: whoever names it makes none.
    assert "agents[1].gateway" not in found
    assert len(found) == 11, sorted(found)


@pytest.mark.parametrize("text", ["agents = 3", "[[agents]]\nsessions = 3\n[[agents]]\nid = 'a'\n[[agents]]\nid = 'a'"])
def test_what_can_be_read_of_a_file_keeps_its_numbers(file: Path, run: Any, text: str) -> None:
    file.write_text(text)
    done = run("config", "check", "--json")
    code, out = done.code, done.out
    keys = [problem["key"] for problem in json.loads(out)["problems"]]
    assert code == 1
    assert keys == (["agents"] if text == "agents = 3" else ["agents[0].id", "agents[0].sessions", "agents[2].id"])


def test_rules_that_leave_calls_to_a_person_of_whom_nobody_is_told_are_told(file: Path, run: Any) -> None:
    file.write_text('[[agents]]\nid = "a"\n\n[[approvals.rules]]\ntool = "Bash(git push:*)"\ndecide = "person"\n')
    said = run("config", "check")
    assert "leave calls to a person" in said.out + said.err
    assert said.code == 0
    file.write_text(
        '[[agents]]\nid = "a"\n\n[answer]\nescalate_to = "me"\n\n'
        '[gateways.me]\ntype = "command"\ncommand = ["true"]\n\n'
        '[[approvals.rules]]\ntool = "Bash(git push:*)"\ndecide = "person"\n'
    )
    said = run("config", "check")
    assert "leave calls to a person" not in said.out + said.err
