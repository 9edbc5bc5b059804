"""``hookrouter adopt``: the hooks of a settings file run as scripts, and come back byte for byte."""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter._config.reader import survey
from hookrouter._diagnostics.checks.settings import _adopted_twice
from hookrouter._installation import adopting, settings_file
from hookrouter._installation.adoption import give_back, take, toml_of
from hookrouter._plugins import scan
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter.cli import adopt as module
from hookrouter.cli.adopt import adopt
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.settings_options import Scope
from hookrouter.config import Script


def hook(command: str, **keys: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **keys}


def group(*hooks: dict[str, Any], matcher: str | None = None) -> dict[str, Any]:
    return {**({} if matcher is None else {"matcher": matcher}), "hooks": list(hooks)}


SHAPES: dict[str, dict[str, Any]] = {
    "a guard of lines": {
        "PreToolUse": [group(hook("jq -r .tool_input.command | grep -q 'rm -rf' && exit 2"), matcher="Bash")]
    },
    "a formatter": {
        "PostToolUse": [
            group(hook('prettier --write "$(jq -r .tool_input.file_path)"'), matcher="Edit|Write|MultiEdit")
        ]
    },
    "of the project": {
        "PostToolUse": [group(hook('"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh', timeout=30), matcher="Write|Edit")]
    },
    "no matcher": {"Stop": [group(hook("afplay /System/Library/Sounds/Glass.aiff"))]},
    "an empty matcher": {"Notification": [group(hook("notify-send 'Claude Code' 'waits'"), matcher="")]},
    "all": {"PreToolUse": [group(hook("~/.claude/log.py"), matcher="*")]},
    "all as an expression": {"PreToolUse": [group(hook("~/.claude/log.py"), matcher=".*")]},
    "tools of a server": {"PreToolUse": [group(hook("guard"), matcher="mcp__github__.*")]},
    "a kind of start": {
        "SessionStart": [group(hook("cat CONTEXT.md"), matcher="startup|resume"), group(hook("git status"))]
    },
    "a prompt": {"UserPromptSubmit": [group(hook("date '+%F %T'"))]},
    "both kinds of compaction": {"PreCompact": [group(hook("a"), matcher="manual"), group(hook("b"), matcher="auto")]},
    "many in a group": {"PreToolUse": [group(hook("a"), hook("b", timeout=5), hook("c", timeout=0.5), matcher="Bash")]},
    "every event of a logger": {
        name: [group(hook(f"uv run ~/.claude/hooks/{name}.py"))]
        for name in ("PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
    },
    "with arguments": {
        "PreToolUse": [group(hook("node", args=["${CLAUDE_PROJECT_DIR}/a.js", "--x=ä b"]), matcher="Task")]
    },
    "a shell": {"PreToolUse": [group(hook("echo hi", shell="bash"))]},
    "a line of several": {"Stop": [group(hook("if true; then\n\techo 'a' \"b\" \\\n  '''c''' \"\"\"d\"\"\"\nfi\n"))]},
    "strange characters": {"Stop": [group(hook("printf 'ü 漢 🎉 \x01\x1f\x7f\x85\u2028\ufeff \\u0000'"))]},
    "that must not fail": {"PreToolUse": [group(hook("guard", onFailure="block"), matcher="Bash")]},
    "agents": {
        "SubagentStop": [group(hook("tts done", timeout=10))],
        "SubagentStart": [group(hook("log"), matcher="Explore")],
    },
    "the same twice": {"Stop": [group(hook("a")), group(hook("a"))]},
    "sessions end": {"SessionEnd": [group(hook("rm -f /tmp/x", timeout=1), matcher="clear|logout|other")]},
}
"""What public collections of hooks have in their settings."""


INDEX: list[tuple[DiscoveredPlugin, ...]] = []
"""What is installed, once a test has looked."""


@pytest.fixture(autouse=True)
def _known_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the installed plugins once, not in each home: that takes a process for each of them."""
    monkeypatch.setattr(
        scan, "scan", lambda home, real=scan.scan: INDEX[0] if INDEX else INDEX.append(real(home)) or INDEX[0]
    )


@pytest.fixture
def user(hookrouter_home: Path) -> Path:
    file = Path.home() / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    return file


@pytest.fixture
def config(hookrouter_home: Path) -> Path:
    return hookrouter_home / "config.toml"


def scripts() -> tuple[Script, ...]:
    app = Application.from_environ(share=False)
    assert not app.config.problems
    return app.config.scripts


def others(file: Path) -> list[tuple[str, str, str]]:
    """Return the hooks of a settings file that are not hookrouter's: event, matcher, command."""
    return [
        (event, one.get("matcher") or "", entry["command"])
        for event, groups in json.loads(file.read_text("utf-8-sig")).get("hooks", {}).items()
        for one in groups
        for entry in one["hooks"]
        if "hookrouter" not in entry.get("command", "")
    ]


def effects(hooks: dict[str, Any]) -> set[tuple[str, str, str, tuple[str, ...] | None, float]]:
    return {
        (
            event,
            one.get("matcher", ""),
            entry["command"],
            tuple(entry["args"]) if "args" in entry else None,
            entry.get("timeout", 0),
        )
        for event, groups in hooks.items()
        for one in groups
        for entry in one["hooks"]
    }


def test_what_collections_have_runs_the_same_and_comes_back(user: Path, config: Path) -> None:
    together: dict[str, Any] = {}
    for shape in SHAPES.values():
        for event, groups in shape.items():
            together.setdefault(event, []).extend(groups)
    before = json.dumps({"model": "opus", "hooks": together}, indent=4, ensure_ascii=False).encode() + b"\n"
    user.write_bytes(before)
    mine = "# mine\n[serve]\nidle = 60  # a minute\n"
    config.write_text(mine)
    adopt()
    taken = scripts()
    assert {(one.event, one.matcher, one.command, one.args, one.timeout) for one in taken} == effects(together)
    assert len(taken) == len(effects(together))
    assert {(one.adopted_from, one.project) for one in taken} == {(str(user), "")}
    assert [one.command for one in taken if one.on_error == "closed"] == ["guard"]
    assert others(user) == []
    assert "hookrouter" in user.read_text()
    assert config.read_text().startswith(f"{mine}\n[[scripts]]\n")
    adopt(undo=True)
    assert user.read_bytes() == before
    assert config.read_text() == mine
    with pytest.raises(CommandError, match="nothing was adopted"):
        adopt(undo=True)


@pytest.mark.parametrize("name", SHAPES)
def test_each_alone_runs_the_same_and_comes_back(name: str) -> None:
    text = json.dumps({"hooks": SHAPES[name]})
    taking = take(text, "/s", "")
    assert taking.left == []
    read = read_config_text(toml_of([one.script for one in taking.taken]))
    assert {(one.event, one.matcher, one.command, one.args, one.timeout) for one in read} == effects(SHAPES[name])
    assert json.loads(taking.text) == {}
    back = give_back(taking.text, [(one.script.event, one.matcher, one.handler) for one in taking.taken])
    assert effects(json.loads(back)["hooks"]) == effects(SHAPES[name])


COMMANDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)
HOOKS = st.dictionaries(
    st.sampled_from(["PreToolUse", "Stop", "SessionStart", "Future"]),
    st.lists(
        st.fixed_dictionaries(
            {"hooks": st.lists(st.builds(hook, COMMANDS), max_size=3)},
            optional={"matcher": st.sampled_from(["", "*", "Bash", "mcp__.*", "(?<a>b)"])},
        ),
        max_size=3,
    ),
    max_size=3,
)
REST = st.dictionaries(
    st.text(max_size=5).filter(lambda key: key != "hooks"),
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    max_size=3,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOOKS, REST, st.sampled_from([None, 2, "\t"]), st.booleans(), st.booleans(), st.booleans())
def test_a_text_loses_its_hooks_and_nothing_else(
    hooks: dict[str, Any], rest: dict[str, Any], indent: int | str | None, crlf: bool, mark: bool, escaped: bool
) -> None:
    text = json.dumps({**rest, "hooks": hooks}, indent=indent, ensure_ascii=escaped)
    text = ("\ufeff" if mark else "") + (text.replace("\n", "\r\n") if crlf else text)
    taking = take(text, "/s", "/p")
    after = json.loads(taking.text.removeprefix("\ufeff"))
    assert {key: value for key, value in after.items() if key != "hooks"} == rest
    assert taking.text.startswith("\ufeff") == mark
    read = read_config_text(toml_of([one.script for one in taking.taken]))
    assert read == tuple(one.script for one in taking.taken)
    known = {event: groups for event, groups in hooks.items() if event != "Future"}
    wanted = [
        (event, one.get("matcher", ""), entry["command"])
        for event, groups in known.items()
        for one in groups
        for entry in one["hooks"]
    ]
    kept = [one for one in wanted if "(?<" in one[1]]
    found = {(one.event, one.matcher, one.command) for one in read}
    assert found | set(kept) >= set(wanted)
    back = json.loads(
        give_back(taking.text, [(one.script.event, one.matcher, one.handler) for one in taking.taken]).removeprefix(
            "\ufeff"
        )
    )
    assert effects({**hooks}) == effects(back.get("hooks", {}))


def read_config_text(text: str) -> tuple[Script, ...]:
    problems, config = survey(text.encode())
    assert not problems
    assert config is not None
    return config.scripts


GUARD = {"PreToolUse": [group(hook("guard 'ä'", timeout=5), hook("other"), matcher="Bash")]}


def written(file: Path, hooks: dict[str, Any], **rest: Any) -> bytes:
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps({**rest, "hooks": hooks}, indent=2))
    return file.read_bytes()


def twice() -> list[str]:
    return [finding.message for finding in _adopted_twice(Application.from_environ(share=False))]


def test_what_a_script_cannot_be_stays_with_the_reason(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = [
        {"type": "prompt", "prompt": "Is it safe?"},
        hook("a", **{"async": True}),
        hook("b", timeout=10**9),
        hook("c", args=[""]),
        hook("d", shell="powershell"),
    ]
    before = written(user, {"PreToolUse": [group(*odd, hook("taken"))], "Future": [group(hook("e"))]})
    adopt(as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [one.command for one in scripts()] == ["taken"]
    reasons = {one["hook"]: one["reason"] for one in told["left"]}
    assert list(reasons) == ["prompt", "a", "b", "c", "d", "e"]
    assert "'async'" in reasons["a"]
    adopt(undo=True)
    assert user.read_bytes() == before


def test_two_that_differ_in_their_time_are_both_taken_and_come_back(user: Path) -> None:
    """Claude Code runs them once, for as long as the last one may take."""
    same = [hook("x", timeout=seconds) for seconds in (1, 1, 10, 1)]
    before = written(user, {"PreToolUse": [group(*same)]})
    adopt()
    assert [one.timeout for one in scripts()] == [1, 10, 1]
    adopt(undo=True)
    assert user.read_bytes() == before


def test_undo_says_what_no_longer_fails_closed_and_nothing_else(
    user: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(user, {"PreToolUse": [group(hook("kept", onFailure="block"), hook("lost"))]})
    adopt()
    config.write_text(config.read_text().replace('command = "lost"', 'command = "lost"\non_error = "closed"'))
    capsys.readouterr()
    adopt(undo=True, as_json=True)
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning == "what was set to fail closed is not in the settings file: lost"


def test_a_number_of_thousands_of_digits_is_no_fault() -> None:
    text = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":' + "9" * 5000 + "}]}]}}"
    assert [one.what for one in take(text, "/s", "").left] == ["x"]
    entry = '{"type": "command", "command": "y", "timeout": 5}'
    given = give_back(text, [("Stop", None, entry)])
    assert given.count('"y"') == 1
    assert give_back(given, [("Stop", None, entry)]) == given


def test_a_dry_run_changes_nothing(user: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = written(user, GUARD)
    adopt(dry_run=True)
    assert "+[[scripts]]" in capsys.readouterr().out
    assert (user.read_bytes(), config.exists()) == (before, False)
    adopt()
    after = user.read_bytes(), config.read_bytes()
    adopt(undo=True, dry_run=True)
    assert (user.read_bytes(), config.read_bytes()) == after


def test_a_file_that_was_changed_since_gets_them_at_the_ends(user: Path, config: Path) -> None:
    written(user, GUARD)
    adopt()
    now = json.loads(user.read_text())
    now["model"] = "opus"
    now["hooks"]["Stop"] = [group(hook("new"))]
    user.write_text(json.dumps(now))
    config.write_text("[serve]\nidle = 60\n\n" + config.read_text().replace("[[scripts]]", "# why\n[[scripts]]", 1))
    adopt(undo=True)
    assert sorted(others(user)) == [
        ("PreToolUse", "Bash", "guard 'ä'"),
        ("PreToolUse", "Bash", "other"),
        ("Stop", "", "new"),
    ]
    assert json.loads(user.read_text())["model"] == "opus"
    assert scripts() == ()
    assert "idle = 60" in config.read_text()


def test_twice_takes_what_came_since_and_nothing_doubled(
    user: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(user, GUARD)
    adopt()
    # A program has put its own back, and one more.
    now = json.loads(user.read_text())
    now["hooks"]["PreToolUse"] += [group(hook("guard 'ä'", timeout=5), hook("third"), matcher="Bash")]
    user.write_text(json.dumps(now))
    config.write_text(config.read_text() + "\n[serve]\nidle = 60\n")
    assert twice() != []
    adopt()
    assert twice() == []
    assert [one.command for one in scripts()] == ["guard 'ä'", "other", "third"]
    adopt()
    assert len(scripts()) == 3
    adopt(undo=True)
    assert sorted(others(user)) == sorted(
        [("PreToolUse", "Bash", "guard 'ä'"), ("PreToolUse", "Bash", "other"), ("PreToolUse", "Bash", "third")]
    )
    assert "idle = 60" in config.read_text()
    assert scripts() == ()
    assert "\n  PreToolUse (Bash): guard 'ä'\n" in capsys.readouterr().out.rpartition("has its ")[2]


def test_a_projects_hooks_run_in_it_alone(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(user, GUARD)
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    file = tmp_path / "link" / ".claude" / "settings.json"
    theirs = written(file, SHAPES["of the project"])
    monkeypatch.chdir(tmp_path / "link")
    adopt()
    adopt(scope=Scope.PROJECT)
    assert [one.project for one in scripts()] == ["", "", str(tmp_path / "shop")]
    app = Application.from_environ(share=False)
    payload = {"tool_name": "Write", "tool_input": {}}
    assert app.config.scripts_for("PostToolUse", payload, "/elsewhere") == []
    assert len(app.config.scripts_for("PostToolUse", payload, str(tmp_path / "shop"))) == 1
    # By the file itself, not by the link.
    adopt(undo=True, settings=str(tmp_path / "shop" / ".claude" / "settings.json"))
    assert file.read_bytes() == theirs
    assert [one.project for one in scripts()] == ["", ""]
    adopt(undo=True)
    assert user.read_bytes() == before


def test_a_projects_file_that_others_may_have_is_refused(user: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared.json"
    before = written(shared, GUARD)
    file = tmp_path / "shop" / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.symlink_to(shared)
    with pytest.raises(CommandError, match="outside of the project"):
        adopt(settings=str(file))
    assert shared.read_bytes() == before
    # The user's own may be kept elsewhere.
    user.symlink_to(shared)
    adopt()
    assert {one.project for one in scripts()} == {""}
    adopt(undo=True)
    assert shared.read_bytes() == before
    assert user.is_symlink()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": {}, "hooks": {}}', "\xff", '{"hooks": [' + "[" * 5000, '{"hooks": 5}', "", "{}"]
)
def test_what_cannot_be_used_is_told_and_left(text: str, user: Path, config: Path) -> None:
    user.write_bytes(text.encode("latin-1"))
    if text in ("", "{}", '{"hooks": 5}'):
        adopt()
    else:
        with pytest.raises(CommandError, match=str(user)):
            adopt()
    assert user.read_bytes() == text.encode("latin-1")
    assert not config.exists()


def test_a_config_that_cannot_be_used_is_told_and_left(user: Path, config: Path) -> None:
    before = written(user, GUARD)
    for text in ("scripts = [{event = 'Stop', command = 'x'}]\n", "[serve\n", "[plugins.scripts]\nenabled = false\n"):
        config.write_text(text)
        with pytest.raises(CommandError):
            adopt()
        assert (user.read_bytes(), config.read_text()) == (before, text)
        with pytest.raises(CommandError):
            adopt(undo=True)


def test_config_with_a_mark_and_other_line_ends_stays(user: Path, config: Path) -> None:
    before = written(user, {"Stop": [group(hook("a\r\nb\n'''"))]})
    mine = "\ufeff# mine\r\n[serve]\r\nidle = 60\r\n".encode()
    config.write_bytes(mine)
    adopt()
    assert [one.command for one in scripts()] == ["a\r\nb\n'''"]
    assert config.read_bytes().startswith(mine)
    adopt(undo=True)
    assert (user.read_bytes(), config.read_bytes()) == (before, mine)


class Killed(BaseException):
    """The process ends here."""


WRITES = {"_save": adopting, "put": adopting, "register": module, "put_back": adopting}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_ended_at_a_write_no_hook_is_lost(name: str, after: bool, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(user, GUARD)
    wanted = {"guard 'ä'", "other"}
    real = getattr(WRITES[name], name)

    for undo in (False, True):
        with monkeypatch.context() as patch, suppress(Killed):

            def ends(*args: Any, patch: pytest.MonkeyPatch = patch, **keys: Any) -> Any:
                if after:
                    real(*args, **keys)
                # As by a kill, nothing that is written comes after.
                for one, where in WRITES.items():
                    patch.setattr(where, one, lambda *_, **__: None)
                raise Killed

            patch.setattr(WRITES[name], name, ends)
            adopt(undo=undo)
        here, there = {one[2] for one in others(user)}, {one.command for one in scripts()}
        assert here | there == wanted
        # In both files: it is told.
        assert bool(here & there) == bool(twice())
        if not undo:
            adopt()
            assert ({one[2] for one in others(user)}, {one.command for one in scripts()}) == (set(), wanted)
    if scripts() or others(user) == []:
        adopt(undo=True)
    assert user.read_bytes() == before
    assert scripts() == ()


def test_a_registration_that_fails_gives_all_back(user: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(user, GUARD)

    def fails(*_: Any, **__: Any) -> None:
        raise CommandError("no")

    monkeypatch.setattr(module, "register", fails)
    with pytest.raises(CommandError, match="no"):
        adopt()
    assert (user.read_bytes(), scripts()) == (before, ())
    with pytest.raises(CommandError, match="nothing was adopted"):
        adopt(undo=True)


@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("name", ["_backup", "_replace"])
def test_a_settings_file_that_cannot_be_written_is_told_and_nothing_moves(
    name: str, undo: bool, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(user, GUARD)
    if undo:
        adopt()
    then, known = user.read_bytes(), scripts()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(settings_file, name, full)
        with pytest.raises(CommandError, match=f"{user}: cannot be written: No space left on device"):
            adopt(undo=undo)
    assert (user.read_bytes(), scripts()) == (then, known)
    assert twice() == []
    # Once there is room, all is as it would have been.
    adopt(undo=undo)
    assert len(scripts()) == (0 if undo else 2)
    if not undo:
        adopt(undo=True)
    assert user.read_bytes() == before


def test_entries_of_an_install_before_stay_and_come_back(user: Path) -> None:
    from hookrouter.cli.installation import install

    written(user, GUARD)
    install()
    before = user.read_bytes()
    adopt()
    assert others(user) == []
    adopt(undo=True)
    assert others(user) == [("PreToolUse", "Bash", "guard 'ä'"), ("PreToolUse", "Bash", "other")]
    assert user.read_bytes() == before
