"""install, what Claude Code would then run, and uninstall: with the installed program, in processes of their own."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from hookrouter._installation.front_command import default_front, front_words
from hookrouter._installation.mod_keys import enabled_folder
from hookrouter._mod.folder import mod_folder
from hookrouter.samples import sample
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv

PLUGIN = """
from hookrouter import hookimpl

@hookimpl
def {hook}(event, context):
    return None
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PYTHONPATH that holds a third party's plugin, without hooks yet."""
    site = tmp_path / "site"
    metadata = site / "watcher-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: watcher\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hookrouter]\nwatcher = watcher_plugin\n")
    (site / "watcher_plugin.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(site))
    return site


def hookrouter(*arguments: str, code: int = 0) -> str:
    done = subprocess.run([*script_argv(), *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, f"hookrouter {' '.join(arguments)} failed ({done.returncode}): {done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def commands(path: Path) -> dict[tuple[str, str | None], str]:
    hooks = json.loads(path.read_text()).get("hooks", {})
    return {
        (event, group.get("matcher")): handler["command"]
        for event, groups in hooks.items()
        for group in groups
        for handler in group["hooks"]
    }


def test_the_registered_commands_run_as_claude_code_runs_them(hookrouter_home: Path) -> None:
    hookrouter("install")
    settings = Path.home() / ".claude" / "settings.json"
    registered = commands(settings)
    assert ("PreToolUse", "AskUserQuestion") in registered
    assert ("Stop", None) in registered
    payload = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "hook_event_name": "Stop",
        "stop_hook_active": False,
    }
    # Claude Code's environment, not that of the shell in which install ran.
    environ = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]}
    done = subprocess.run(
        ["bash", "-c", registered[("Stop", None)]],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environ,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((hookrouter_home / "logs").glob("*.jsonl"))
    hookrouter("uninstall")
    assert not settings.parent.exists()


def test_a_change_of_plugins_changes_only_their_entries(site: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    original = '{\n    "model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}'
    path.write_text(original)
    hookrouter("install", "--settings", str(path))
    before = commands(path)
    (site / "watcher_plugin.py").write_text(PLUGIN.format(hook="pre_tool_use") + PLUGIN.format(hook="worktree_remove"))
    hookrouter("install", "--settings", str(path))
    after = commands(path)
    assert set(after) - set(before) == {("PreToolUse", None), ("WorktreeRemove", None)}
    assert set(before) - set(after) == {("PreToolUse", "AskUserQuestion")}
    text = path.read_text()
    hookrouter("install", "--settings", str(path))
    assert path.read_text() == text
    hookrouter("uninstall", "--settings", str(path))
    assert path.read_text() == original
    assert len(list(tmp_path.glob("settings.json.hookrouter-backup-*"))) == 3


def test_a_guard_that_cannot_be_imported_keeps_its_entries(site: Path, tmp_path: Path, hookrouter_home: Path) -> None:
    path = tmp_path / "settings.json"
    (hookrouter_home / "config.toml").write_text('[plugins.watcher]\non_error = "closed"\n')
    (site / "watcher_plugin.py").write_text("import no_such_module\n")
    hookrouter("install", "--settings", str(path))
    assert ("PreToolUse", None) in commands(path)


def test_a_guards_entries_block_on_failure_while_it_is_one(site: Path, tmp_path: Path, hookrouter_home: Path) -> None:
    path = tmp_path / "settings.json"
    (site / "watcher_plugin.py").write_text(PLUGIN.format(hook="pre_tool_use_bash"))
    hookrouter("install", "--settings", str(path))
    without = path.read_text()
    assert "onFailure" not in without
    config = hookrouter_home / "config.toml"
    config.write_text('[plugins.watcher]\non_error = "closed"\n')
    hookrouter("install", "--settings", str(path))
    groups = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert {group["matcher"]: group["hooks"][0].get("onFailure") for group in groups} == {
        "AskUserQuestion": None,
        "Bash": "block",
    }
    config.unlink()
    hookrouter("install", "--settings", str(path))
    assert json.loads(path.read_text()) == json.loads(without)
    hookrouter("uninstall", "--settings", str(path))
    assert not path.exists()


def test_a_deleted_working_folder_matters_only_where_it_is_meant(tmp_path: Path) -> None:
    settings = Path.home() / ".claude" / "settings.json"

    def gone(*arguments: str) -> subprocess.CompletedProcess[str]:
        shell = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec "$@"'
        words = ["sh", "-c", shell, "sh", *script_argv(), *arguments]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr
        return done

    assert gone("install").returncode == 0
    assert commands(settings)
    assert "inbox  active" in gone("plugins", "list").stdout
    report = gone("doctor", "--json")
    checked = [finding for finding in json.loads(report.stdout)["findings"] if finding["check"] == "settings"]
    assert [finding["level"] for finding in checked] == ["warning", "ok"]
    for arguments in (["--scope", "project"], ["--settings", "relative.json"]):
        done = gone("install", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "hookrouter: the working folder does not exist any more; change to one that does\n"
    assert gone("uninstall").returncode == 0
    assert not settings.exists()


def environment(folder: Path) -> Path:
    """Make a Python environment that borrows everything from this one, and return its hookrouter script."""
    venv.create(folder, with_pip=False, symlinks=True)
    (library,) = folder.glob("lib/python*/site-packages")
    (library / "borrowed.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    script = folder / "bin" / "hookrouter"
    body = "import sys\nfrom hookrouter.__main__ import main\nsys.exit(main())\n"
    script.write_text(f"#!{folder}/bin/python\n{body}")
    script.chmod(0o755)
    return script


def test_an_install_from_another_environment_takes_the_entries_over(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"model": "opus"}\n')
    first, second = (environment(tmp_path / name) for name in ("first", "second"))
    entries = []
    for script in (first, second, second):
        done = subprocess.run(
            [script, "install", "--settings", settings], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        entries.append(commands(settings))
    assert done.stdout.startswith(f"{settings}: nothing to change\n")
    assert len(list(settings.parent.glob("settings.json.hookrouter-backup-*"))) == 2
    assert entries[0].keys() == entries[1].keys()
    assert all(f" {first} run " in command for command in entries[0].values())
    assert all(f" {second} run " in command for command in entries[1].values())
    assert settings.read_text().count(" run stop") == 1
    shutil.rmtree(first.parent.parent)
    subprocess.run([second, "uninstall", "--settings", settings], check=True, capture_output=True, timeout=60)
    assert settings.read_text() == '{"model": "opus"}\n'


def test_scopes_dry_run_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    diff = hookrouter("install", "--scope", "project", "--dry-run")
    assert diff.startswith(f"--- {os.devnull}\n+++ {tmp_path}/.claude/settings.json\n")
    assert not (tmp_path / ".claude").exists()
    report: dict[str, Any] = json.loads(hookrouter("install", "--scope", "local", "--json"))
    assert report["settings"] == str(tmp_path / ".claude" / "settings.local.json")
    assert (report["changed"], report["dry_run"], report["backup"], report["diff"]) == (True, False, None, None)
    assert {entry["event"] for entry in report["registered"]} >= {"PreToolUse", "PostToolUse", "Stop"}
    assert json.loads(hookrouter("install", "--scope", "local", "--json"))["changed"] is False
    assert json.loads(hookrouter("uninstall", "--scope", "local", "--json", "--dry-run"))["diff"]
    assert (tmp_path / ".claude" / "settings.local.json").exists()


def test_a_file_that_cannot_be_parsed_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"hooks": {},}')
    for command in ("install", "uninstall"):
        message = hookrouter(command, "--settings", str(path), code=2)
        assert message.startswith(f"hookrouter: {path}: cannot be read: ")
        assert "line 1 column" in message
    assert path.read_text() == '{"hooks": {},}'
    assert os.listdir(tmp_path) == ["settings.json"]


def test_the_program_is_found_however_it_is_called(tmp_path: Path) -> None:
    script = script_argv()[0]
    link = tmp_path / "hookrouter"
    link.symlink_to(script)
    words = [[script], [str(link)], [sys.executable, "-P", "-m", "hookrouter"]]
    reports = [
        json.loads(subprocess.check_output([*each, "install", "--dry-run", "--json", "--scope", "user"], text=True))
        for each in words
    ]
    assert reports[0] == reports[1] == reports[2]
    assert all(f" {script} run " in entry["command"] for entry in reports[0]["registered"])


def test_without_a_script_the_module_is_run(tmp_path: Path) -> None:
    bare = tmp_path / "bin" / "python"
    bare.parent.mkdir()
    bare.symlink_to(sys.executable)
    code = "import sys; sys.executable = sys.argv.pop(1); sys.prefix = '/nowhere'\n"
    code += "from hookrouter.util.program import script_argv; print(script_argv())"
    environ = {**os.environ, "PYTHONUSERBASE": str(tmp_path)}
    out = subprocess.check_output([sys.executable, "-c", code, str(bare)], text=True, env=environ)
    assert out.strip() == str([str(bare), "-P", "-m", "hookrouter"])
    shutil.copy(script_argv()[0], tmp_path / "bin" / "hookrouter")
    out = subprocess.check_output([sys.executable, "-c", code, str(bare)], text=True, env=environ)
    assert out.strip() == str([str(tmp_path / "bin" / "hookrouter")])


def test_an_entry_that_was_changed_by_hand_is_told_and_left(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hookrouter("install", "--settings", str(path))
    document = json.loads(path.read_text())
    (group,) = document["hooks"]["PreToolUse"]
    mine = f"timeout 30 {group['hooks'][0]['command']} || true"
    group["hooks"][0]["command"] = mine
    path.write_text(json.dumps(document))

    said = json.loads(hookrouter("install", "--settings", str(path), "--json"))
    assert len(said["warnings"]) == 1
    assert "served by an entry that was changed by hand" in said["warnings"][0]
    assert not said["changed"]

    said = json.loads(hookrouter("uninstall", "--settings", str(path), "--json"))
    assert "still runs hookrouter" in said["warnings"][0]
    assert list(commands(path).values()) == [mine]


@pytest.mark.parametrize(("scope", "is_told"), [("project", True), ("local", False)])
def test_a_file_that_a_team_shares_gets_a_warning(
    scope: str, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    warnings = json.loads(hookrouter("install", "--scope", scope, "--json"))["warnings"]
    assert [("others who use this file" in warning, "--scope local" in warning) for warning in warnings] == (
        [(True, True)] if is_told else []
    )


def test_a_named_pipe_is_no_settings_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    assert "not a regular file" in hookrouter("install", "--settings", str(tmp_path / "settings.json"), code=2)


@pytest.mark.parametrize("front", ["python", "cold"])
def test_a_front_is_registered_and_stays(front: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    report = json.loads(hookrouter("install", "--settings", str(path), "--front", front, "--json"))
    assert report["front"] == front
    command = commands(path)[("Stop", None)]
    assert command.endswith(f"{script_argv()[0]} run stop")
    assert ("python_front.py" in command) is (front == "python")
    again = json.loads(hookrouter("install", "--settings", str(path), "--json"))
    assert (again["front"] == front) is (front == "python") is not again["changed"]
    assert f"\n  front: {front}\n" in hookrouter("install", "--settings", str(path), "--front", front)
    assert json.loads(hookrouter("uninstall", "--settings", str(path), "--json"))["front"] is None
    assert not path.exists()


def test_a_front_runs_the_hook_where_no_router_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "a home" / "it's"
    monkeypatch.setenv("HOOKROUTER_HOME", str(home))
    path = tmp_path / "settings.json"
    hookrouter("install", "--settings", str(path), "--front", "python")
    command = commands(path)[("Stop", None)]
    subprocess.run(
        ["sh", "-c", command],
        input=json.dumps(sample("Stop")),
        text=True,
        timeout=60,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]},
    )
    (journal,) = (home / "logs").glob("*.jsonl")
    assert json.loads(journal.read_text().splitlines()[-1])["event"] == "Stop"


def test_http_entries_need_an_address_and_leave_commands_where_they_must(tmp_path: Path, hookrouter_home: Path) -> None:
    path = tmp_path / "settings.json"
    assert "[serve] http" in hookrouter("install", "--settings", str(path), "--front", "http", code=2)
    assert not path.exists()
    (hookrouter_home / "config.toml").write_text('[serve]\nhttp = "127.0.0.1:8787"\n')
    report = json.loads(hookrouter("install", "--settings", str(path), "--front", "http", "--json"))
    assert (report["front"], report["warnings"]) == ("http", [])
    hooks = json.loads(path.read_text())["hooks"]
    kinds = {
        event: {handler["type"] for group in groups for handler in group["hooks"]} for event, groups in hooks.items()
    }
    assert kinds["PermissionRequest"] == kinds["PreToolUse"] == kinds["Stop"] == {"http"}
    assert kinds["SessionStart"] == {"command"}
    again = json.loads(hookrouter("install", "--settings", str(path), "--json"))
    assert (again["front"], again["changed"]) == ("http", False)
    hookrouter("install", "--settings", str(path), "--front", "cold")
    assert '"http"' not in path.read_text()
    hookrouter("uninstall", "--settings", str(path))
    assert not path.exists()


def test_the_mod_is_installed_kept_and_taken_away(tmp_path: Path, hookrouter_home: Path) -> None:
    path, home = tmp_path / "settings.json", Home.in_folder(str(hookrouter_home))
    before = '{\n  "model": "opus",\n  "enabledPlugins": {"a@b": true}\n}\n'
    path.write_text(before)
    mod = Path(mod_folder(home))

    shown = hookrouter("install", "--settings", str(path), "--front", "mod", "--dry-run")
    assert "hookrouter-mod@hookrouter-local" in shown
    assert not mod.exists()
    assert path.read_text() == before

    report = json.loads(hookrouter("install", "--settings", str(path), "--front", "mod", "--json"))
    assert report["front"] == "mod"
    assert any("[serve] mod is not true" in warning for warning in report["warnings"])
    assert enabled_folder(path.read_text()) == str(mod)
    assert json.loads(path.read_text())["enabledPlugins"]["a@b"] is True
    command = commands(path)[("Stop", None)]
    assert shlex.join(front_words(default_front(), home.router)) in command
    assert json.dumps(command) in (mod / "hooks" / "bridge.js").read_text()

    (hookrouter_home / "config.toml").write_text("[serve]\nmod = true\n")
    again = json.loads(hookrouter("install", "--settings", str(path), "--json"))
    assert (again["front"], again["changed"]) == ("mod", False)
    assert not any("[serve]" in warning for warning in again["warnings"])

    hookrouter("install", "--settings", str(path), "--front", "python")
    assert enabled_folder(path.read_text()) is None
    assert not mod.exists()
    hookrouter("install", "--settings", str(path), "--front", "mod")
    assert mod.exists()
    hookrouter("uninstall", "--settings", str(path))
    assert path.read_text() == before
    assert not mod.exists()


def test_the_mod_is_for_ones_own_settings_and_a_path_that_a_socket_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for scope in ("project", "local"):
        assert "leave --scope out" in hookrouter("install", "--scope", scope, "--front", "mod", code=2)
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path / ("long" * 30)))
    path = tmp_path / "settings.json"
    assert "a socket's path may have 103" in hookrouter("install", "--settings", str(path), "--front", "mod", code=2)
    assert not path.exists()
