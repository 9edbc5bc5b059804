"""The entries in settings.json: which are wanted, and that nothing else in the file ever changes."""

from __future__ import annotations

import json
import os
import pwd
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrouter.config import Config, PluginConfig
from hookrouter.discovery import DiscoveredPlugin
from hookrouter.json_edit import Document, JsonTextError
from hookrouter.registry import NOT_INSTALLED, UNKNOWN_HOOKS, PluginInfo, Plugins, PluginStatus
from hookrouter.settings import (
    Listener,
    Record,
    Registration,
    SettingsError,
    differences,
    hook_command,
    hooks_disabled,
    install,
    listeners,
    merge,
    parse_command,
    registered,
    registrations,
    settings_path,
    uninstall,
)
from hookrouter.store import Store
from hookrouter.tables import EVENTS

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ["/opt/hookrouter/bin/hookrouter"]


def wanted(*hooks: str, script: list[str] = SCRIPT, seconds: float = 10, closed: bool = False) -> list[Registration]:
    return registrations([Listener(hooks, seconds, closed)], script, None)


def shape(entries: list[Registration]) -> list[tuple[str, str | None]]:
    return [(entry.event, entry.matcher) for entry in entries]


def plugin(name: str, status: str, hooks: tuple[str, ...] | None) -> PluginInfo:
    found = DiscoveredPlugin(name=name, value=name, distribution="d", version="1", hooks=hooks)
    return PluginInfo(found, status, "", {})


GUARD = wanted("pre_tool_use_ask_user_question", "stop", closed=True)
QUESTION = wanted("pre_tool_use_ask_user_question", "stop")


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        (["stop"], [("Stop", None)]),
        (["gateway", "cli_commands"], []),
        (["pre_tool_use_ask_user_question"], [("PreToolUse", "AskUserQuestion")]),
        (["pre_tool_use_write", "pre_tool_use_bash"], [("PreToolUse", "Bash|Write")]),
        (["pre_tool_use_mcp"], [("PreToolUse", "mcp__.*")]),
        (["pre_tool_use_mcp", "pre_tool_use_bash"], [("PreToolUse", "Bash"), ("PreToolUse", "mcp__.*")]),
        (["pre_tool_use", "pre_tool_use_mcp", "pre_tool_use_bash"], [("PreToolUse", None)]),
        (["post_tool_use_failure"], [("PostToolUseFailure", None)]),
        (
            ["post_tool_use_failure_bash", "post_tool_use_bash"],
            [("PostToolUse", "Bash"), ("PostToolUseFailure", "Bash")],
        ),
    ],
)
def test_a_hook_registers_the_event_and_the_narrowest_matcher(
    hooks: list[str], expected: list[tuple[str, str | None]]
) -> None:
    assert shape(wanted(*hooks)) == expected


def test_the_raw_hook_registers_every_event_but_the_one_that_a_hook_takes_over() -> None:
    events = [event for event, matcher in shape(wanted("raw_event", "pre_tool_use_bash")) if matcher is None]
    assert events == [event.name for event in EVENTS.values() if event.name != "WorktreeCreate"]
    assert shape(wanted("worktree_create")) == [("WorktreeCreate", None)]


_HOOKS = st.sampled_from(
    sorted(
        {event.hook for event in EVENTS.values()}
        | {f"{event.hook}_{tool}" for event in EVENTS.values() if event.is_tool for tool in ("bash", "edit", "mcp")}
        | {"raw_event"}
    )
)


@given(st.sets(_HOOKS), st.sets(_HOOKS))
def test_no_call_matches_two_entries(hooks: set[str], guarded: set[str]) -> None:
    entries = registrations([Listener(tuple(hooks), 1, False), Listener(tuple(guarded), 1, True)], SCRIPT, None)
    for name in {entry.event for entry in entries}:
        matchers = [entry.matcher for entry in entries if entry.event == name]
        assert matchers == [None] or None not in matchers
        exact = [tool for matcher in matchers if matcher and "*" not in matcher for tool in matcher.split("|")]
        assert len(exact) == len(set(exact))
        assert len(matchers) == len(set(matchers)) <= 3


def test_timeouts_leave_room_for_the_plugins_and_a_scan_but_never_hold_up_the_end_of_a_session() -> None:
    hooks = ("stop", "session_end", "user_prompt_submit", "message_display")
    timeouts = {entry.event: entry.timeout for entry in wanted(*hooks)}
    assert timeouts == {"Stop": 60, "SessionEnd": 1.5, "UserPromptSubmit": 60, "MessageDisplay": 10}
    slow = {entry.event: entry.timeout for entry in wanted(*hooks, seconds=120)}
    assert slow == {"Stop": 170, "SessionEnd": 1.5, "UserPromptSubmit": 170, "MessageDisplay": 10}


def test_a_plugin_counts_once_for_an_event_however_many_of_its_hooks_are_called() -> None:
    one = Listener(("pre_tool_use_bash", "pre_tool_use", "raw_event", "stop"), 30, closed=False)
    other = Listener(("pre_tool_use_mcp",), 7.5, closed=False)
    timeouts = {entry.event: entry.timeout for entry in registrations([one, other], SCRIPT, None)}
    assert (timeouts["PreToolUse"], timeouts["Stop"]) == (87.5, 80)


def test_only_plugins_that_can_answer_or_must_refuse_are_registered() -> None:
    config = Config(plugins={"guard": PluginConfig(on_error="closed", timeout=20), "x": PluginConfig(enabled=False)})
    listed = [
        plugin("a", PluginStatus.ACTIVE, ("stop",)),
        plugin("b", PluginStatus.BROKEN, ("setup",)),
        plugin("x", PluginStatus.DISABLED, ("setup",)),
    ]
    assert listeners(listed, config) == [Listener(("stop",), 10, closed=False)]
    for status in (PluginStatus.ACTIVE, PluginStatus.BROKEN):
        guard = plugin("guard", status, ("pre_tool_use_bash",))
        assert listeners([guard], config) == [Listener(("pre_tool_use_bash",), 20, closed=True)]


def test_a_guard_that_is_not_known_guards_every_tool_and_nothing_else() -> None:
    config = Config(plugins={"guard": PluginConfig(on_error="closed")})
    missing = Plugins((), config, pytest.fail).listing()
    assert [(info.status, info.reason) for info in missing] == [(PluginStatus.BROKEN, NOT_INSTALLED)]
    for listed in ([plugin("guard", PluginStatus.BROKEN, None)], missing):
        assert listeners(listed, config) == [Listener(UNKNOWN_HOOKS, 10, closed=True)]
    assert shape(registrations(listeners(missing, config), SCRIPT, None)) == [
        ("PreToolUse", None),
        ("PermissionRequest", None),
    ]


def test_claude_code_refuses_what_a_guard_guards_if_the_whole_program_fails() -> None:
    entries = wanted("pre_tool_use_bash", "user_prompt_submit", "permission_request", "stop", "setup", closed=True)
    failing = {entry.event: entry.handler().get("onFailure") for entry in entries}
    assert failing == {
        "PreToolUse": "block",
        "UserPromptSubmit": "block",
        "PermissionRequest": None,
        "Stop": None,
        "Setup": None,
    }
    assert all("onFailure" not in entry.handler() for entry in wanted("pre_tool_use", "user_prompt_submit"))


def test_tools_that_no_guard_watches_stay_free_of_its_failures() -> None:
    guard = Listener(("pre_tool_use_bash", "pre_tool_use_write"), 10, closed=True)
    other = Listener(("pre_tool_use_ask_user_question", "pre_tool_use_mcp", "pre_tool_use_write"), 10, closed=False)
    entries = registrations([other, guard], SCRIPT, None)
    assert [(entry.matcher, entry.block_on_failure) for entry in entries] == [
        ("AskUserQuestion", False),
        ("Bash|Write", True),
        ("mcp__.*", False),
    ]


def test_a_guard_that_comes_and_goes_changes_only_its_key() -> None:
    text = '{\n  "model": "opus"\n}\n'
    first, record = merge(text, QUESTION, None)
    guarded, record = merge(first, GUARD, record)
    assert first is not None
    assert guarded is not None
    assert [entry.handler() for entry in GUARD] == [
        handler for groups in json.loads(guarded)["hooks"].values() for group in groups for handler in group["hooks"]
    ]
    assert guarded.replace(',\n            "onFailure": "block"', "") == first
    assert merge(guarded, GUARD, record)[0] == guarded
    assert differences(guarded, GUARD) == []
    assert [found.harmless for found in differences(first, GUARD)] == [False]
    assert [found.harmless for found in differences(guarded, QUESTION)] == [True]
    assert merge(guarded, QUESTION, record)[0] == first
    assert merge(guarded, (), record)[0] == text
    explicit = first.replace('"timeout": 60', '"timeout": 60,\n            "onFailure": "continue"')
    assert merge(explicit, QUESTION, record)[0] == explicit
    assert differences(merge(explicit, GUARD, record)[0], GUARD) == []


@pytest.mark.parametrize("path", ["/a/hookrouter", "/with space/hookrouter", "/it's/$HOME/hookrouter"])
@pytest.mark.parametrize("home", [None, "/h", "/a home/it's"])
def test_a_command_is_recognised_wherever_the_program_is(path: str, home: str | None) -> None:
    ours = parse_command(hook_command([path], home, "pre-tool-use"))
    assert ours == (path, "pre-tool-use", home)


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


_NAMES = st.text(min_size=1, max_size=6)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_HANDLER = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["say hi", "other run stop", "ünï"])},
    optional={"timeout": st.integers(1, 90), "async": st.booleans()},
)
_GROUP = st.fixed_dictionaries(
    {"hooks": st.lists(_HANDLER, max_size=2)},
    optional={"matcher": st.sampled_from(["", "*", "Bash", "AskUserQuestion"])},
)
_SETTINGS = st.builds(
    lambda before, hooks, after: {**before, **hooks, **after},
    st.dictionaries(_NAMES, _JSON, max_size=2),
    st.just({})
    | st.builds(
        lambda hooks: {"hooks": hooks},
        st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "Setup"]), st.lists(_GROUP, max_size=2), max_size=3),
    ),
    st.dictionaries(_NAMES.map(lambda name: f"z{name}"), _JSON, max_size=2),
)


@st.composite
def _texts(draw: st.DrawFn) -> str:
    """A settings text in the formats that programs write, and in those that people leave behind."""
    value = draw(_SETTINGS)
    style = draw(st.sampled_from(["2", "4", "tab", "one line", "tight", "wild"]))
    unicode = draw(st.booleans())
    if style == "wild":
        spaces = draw(st.randoms(use_true_random=False))

        def gap() -> str:
            return "".join(spaces.choice(" \t\n\r") for _ in range(spaces.randrange(4)))

        def wild(part: Any) -> str:
            if isinstance(part, dict):
                inner = ",".join(
                    f"{gap()}{json.dumps(key)}{gap()}:{gap()}{wild(item)}{gap()}" for key, item in part.items()
                )
                return "{" + (inner or gap()) + "}"
            if isinstance(part, list):
                return "[" + (",".join(f"{gap()}{wild(item)}{gap()}" for item in part) or gap()) + "]"
            return json.dumps(part, ensure_ascii=unicode)

        return gap() + wild(value) + gap()
    indents: dict[str, int | str] = {"2": 2, "4": 4, "tab": "\t"}
    indent = indents.get(style)
    separators = (",", ":") if style == "tight" else None
    text = json.dumps(value, ensure_ascii=unicode, indent=indent, separators=separators) + draw(
        st.sampled_from(["", "\n"])
    )
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return draw(st.sampled_from(["", "\ufeff"])) + text


def _others(text: str, original: Any) -> Any:
    """The settings without our groups, and without the containers that the original does not have."""
    value = json.loads(text.removeprefix("\ufeff"))
    for event, groups in list(value.get("hooks", {}).items()):
        groups[:] = [group for group in groups if not any(SCRIPT[0] in each["command"] for each in group["hooks"])]
        if not groups and event not in original.get("hooks", {}):
            del value["hooks"][event]
    if "hooks" not in original and value.get("hooks") == {}:
        del value["hooks"]
    return value


_WANTED = st.builds(lambda hooks, closed: wanted(*hooks, closed=closed), st.sets(_HOOKS, max_size=4), st.booleans())


@settings(deadline=None)
@given(_texts(), _WANTED, _WANTED)
def test_installing_changes_nothing_else_and_uninstalling_gives_the_same_bytes(
    text: str, first: list[Registration], second: list[Registration]
) -> None:
    original = json.loads(text.removeprefix("\ufeff"))
    installed, record = merge(text, first, None)
    assert installed is not None
    assert differences(installed, first) == []
    assert merge(installed, first, record)[0] == installed
    assert _others(installed, original) == original
    updated, record = merge(installed, second, record)
    assert updated is not None
    assert differences(updated, second) == []
    assert _others(updated, original) == original
    assert list(_others(updated, original)) == list(original)
    assert merge(updated, (), record)[0] == text


@settings(deadline=None)
@given(_texts(), _WANTED)
def test_uninstalling_without_a_record_keeps_everything_of_others(text: str, entries: list[Registration]) -> None:
    installed, _ = merge(text, entries, None)
    removed, _ = merge(installed, (), None)
    assert removed is not None
    assert registered(removed) == []
    left, original = json.loads(removed.removeprefix("\ufeff")), json.loads(text.removeprefix("\ufeff"))
    for value in (left, original):
        value["hooks"] = {event: groups for event, groups in value.get("hooks", {}).items() if groups}
    assert left == original


@given(_texts(), st.text(max_size=12), st.integers(0, 400))
def test_a_damaged_text_is_refused_and_never_guessed(text: str, junk: str, place: int) -> None:
    damaged = text[:place] + junk + text[place:]
    try:
        json.loads(damaged.removeprefix("\ufeff"))
    except ValueError:
        if damaged.removeprefix("\ufeff").strip(" \t\r\n"):
            with pytest.raises(SettingsError):
                merge(damaged, QUESTION, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n  b}', "line 2 column 3"),
        ("// comment\n{}", "line 1 column 1"),
        ('{"a": NaN}', "NaN is not JSON at line 1 column 7"),
        ('{"a": 1,\n "a": 2}', 'the key "a" is there twice at line 2 column 2'),
        ("[]", "the file must be an object, found an array"),
        ('{"hooks": []}', '"hooks" must be an object, found an array at line 1 column 11'),
        ('{"hooks": {"Stop": {}}}', '"hooks.Stop" must be an array, found an object'),
        ('{"hooks": {"PreToolUse": {}}}', '"hooks.PreToolUse" must be an array, found an object'),
        ('{"hooks": {"PreToolUse": ["x"]}}', '"hooks.PreToolUse[0]" must be an object, found "x"'),
        ('{"hooks": {"PermissionRequest": [{"hooks": {}}]}}', '"hooks.PermissionRequest[0].hooks" must be an array'),
        ('{"hooks": {"PreToolUse": [{"hooks": [1]}]}}', '"hooks.PreToolUse[0].hooks[0]" must be an object, found 1'),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        merge(text, QUESTION, None)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "hooks",
    [
        "null",
        '{"Stop": null}',
        '{"PreToolUse": null, "Stop": [ ]}',
        '{"Stop": ["x", {"hooks": {}}, {"hooks": [1, null]}, null]}',
        '{"Sotp": {"a": 1}, "sessionstart": 7, "Later": ["x", {"hooks": 5}], "Setup": {}}',
    ],
)
@pytest.mark.parametrize("layout", ['{"model": "opus", "hooks": HOOKS}', '{\n  "hooks": HOOKS\n}\n'])
def test_what_claude_code_drops_is_left_as_it_is(hooks: str, layout: str) -> None:
    text = layout.replace("HOOKS", hooks)
    installed, record = merge(text, QUESTION, None)
    assert installed is not None
    assert differences(installed, QUESTION) == []
    assert merge(installed, QUESTION, record)[0] == installed
    before, after = json.loads(text)["hooks"] or {}, json.loads(installed)["hooks"]
    assert {event: after[event] for event in before if event not in ("PreToolUse", "Stop")} == {
        event: value for event, value in before.items() if event not in ("PreToolUse", "Stop")
    }
    assert after["Stop"][: len(before.get("Stop") or [])] == (before.get("Stop") or [])
    assert merge(installed, (), record)[0] == text
    assert merge(text, (), None)[0] == text


def test_numbers_escapes_and_order_survive_as_they_are_spelled() -> None:
    text = '{"z": 1.0, "a": 1e3, "n": 123456789012345678901234567890, "u": "\\u00e9\\/", "hooks": {}}\n'
    installed, record = merge(text, QUESTION, None)
    assert installed is not None
    assert installed.startswith(text[: text.index("{}}")])
    assert merge(installed, (), record)[0] == text


@pytest.mark.parametrize("text", [None, "", " \n", "{}", "{ }\n", "{\n}", "\ufeff", "\ufeff{}"])
def test_an_empty_file_gets_an_indented_document_and_comes_back_empty(text: str | None) -> None:
    installed, record = merge(text, QUESTION, None)
    assert installed is not None
    assert '\n  "hooks": {\n    "PreToolUse": [\n' in installed
    assert merge(installed, (), record)[0] == text


def test_a_moved_script_is_updated_in_place_and_never_doubled() -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}, indent=4)
    installed, record = merge(text, QUESTION, None)
    moved = wanted("pre_tool_use_ask_user_question", "stop", script=["/new/hookrouter"])
    updated, record = merge(installed, moved, record)
    assert updated is not None
    assert installed is not None
    assert updated == installed.replace(SCRIPT[0], "/new/hookrouter")
    assert merge(updated, (), record)[0] == text


def test_an_entry_keeps_the_keys_that_its_user_added() -> None:
    installed, _ = merge("{}", QUESTION, None)
    assert installed is not None
    edited = installed.replace('"timeout": 60', '"timeout": 7,\n            "statusMessage": "asking"')
    assert [difference.harmless for difference in differences(edited, QUESTION)] == [True, True]
    updated, _ = merge(edited, QUESTION, Record(hooks=""))
    assert updated is not None
    assert differences(updated, QUESTION) == []
    assert updated.count('"statusMessage": "asking"') == 2


def test_the_exec_form_and_duplicates_become_one_current_entry() -> None:
    ours = {"type": "command", "command": "/old/hookrouter", "args": ["run", "stop"], "timeout": 60}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [ours, {"type": "command", "command": "mine"}, ours]}]}})
    updated, _ = merge(text, wanted("stop"), None)
    assert updated is not None
    assert json.loads(updated)["hooks"]["Stop"] == [
        {"hooks": [wanted("stop")[0].handler(), {"type": "command", "command": "mine"}]}
    ]


def test_what_a_user_adds_after_the_install_stays() -> None:
    installed, record = merge(None, QUESTION, None)
    assert installed is not None
    value = json.loads(installed)
    value["model"] = "opus"
    value["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    removed, _ = merge(json.dumps(value, indent=2), (), record)
    assert removed is not None
    mine = {"hooks": [{"type": "command", "command": "mine"}]}
    assert json.loads(removed) == {"hooks": {"Stop": [mine]}, "model": "opus"}


def test_the_switch_for_all_hooks_is_seen() -> None:
    assert hooks_disabled('{"disableAllHooks": true}')
    assert not hooks_disabled('{"disableAllHooks": false}')
    assert not hooks_disabled("{}")


def test_scopes_name_the_files_that_claude_code_reads(tmp_path: Path) -> None:
    assert settings_path("user", {"CLAUDE_CONFIG_DIR": "/c"}, "/w") == "/c/settings.json"
    assert settings_path("user", {"HOME": "/h"}, "/w") == "/h/.claude/settings.json"
    known = os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".claude", "settings.json")
    assert {settings_path("user", environ, "/w") for environ in ({}, {"HOME": ""}, {"HOME": "x"})} == {known}
    assert settings_path("project", {}, "/w") == "/w/.claude/settings.json"
    assert settings_path("local", {}, "/w") == "/w/.claude/settings.local.json"


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(SettingsError, match=r"HOME is ''.*set HOME"):
        settings_path("user", {}, "/w")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


def test_a_missing_file_is_made_private_and_removed_again(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "new" / ".claude" / "settings.json"
    change = install(str(path), QUESTION, store)
    assert (change.changed, change.backup) == (True, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not install(str(path), QUESTION, store).changed
    assert uninstall(str(path), store).after is None
    assert sorted(tmp_path.iterdir()) == [tmp_path / "state"]
    assert not uninstall(str(path), store).changed


def test_a_folder_that_install_made_goes_whatever_became_of_the_file(tmp_path: Path, store: Store) -> None:
    path = tmp_path / ".claude" / "settings.json"
    install(str(path), QUESTION, store)
    path.unlink()
    install(str(path), QUESTION, store)
    path.unlink()
    assert not uninstall(str(path), store).changed
    assert not path.parent.exists()
    path.parent.mkdir()
    install(str(path), QUESTION, store)
    uninstall(str(path), store)
    assert path.parent.exists()
    path.parent.rmdir()
    install(str(path), QUESTION, store)
    (path.parent / "mine.md").write_text("")
    assert uninstall(str(path), store).after is None
    assert os.listdir(path.parent) == ["mine.md"]


def test_mode_and_former_text_are_kept(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}\n')
    path.chmod(0o640)
    backup = install(str(path), QUESTION, store).backup
    assert backup is not None
    assert backup.startswith(f"{path}.hookrouter-backup-")
    with open(backup) as file:
        assert file.read() == '{"model": "opus"}\n'
    assert {stat.S_IMODE(os.stat(name).st_mode) for name in (path, backup)} == {0o640}
    unchanged = path.stat()
    assert install(str(path), QUESTION, store).backup is None
    assert path.stat().st_mtime_ns == unchanged.st_mtime_ns
    second = uninstall(str(path), store).backup
    assert second != backup
    assert path.read_text() == '{"model": "opus"}\n'


def test_a_link_stays_a_link(tmp_path: Path, store: Store) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "claude.json"
    real.write_text("{}")
    link = tmp_path / "settings.json"
    link.symlink_to("dotfiles/claude.json")
    change = install(str(link), QUESTION, store)
    assert link.is_symlink()
    assert registered(real.read_text())
    assert os.listdir(real.parent) == ["claude.json"]
    assert change.backup is not None
    uninstall(str(real), store)
    assert real.read_text() == "{}"


@pytest.mark.parametrize("content", [b'{"hooks": []}', b"{broken", b"\xff\xfe", b'{"a": 1, "a": 1}'])
def test_a_file_that_cannot_be_used_is_left_alone(tmp_path: Path, store: Store, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"settings\.json.*; the file was left as it is"):
        install(str(path), QUESTION, store)
    with pytest.raises(SettingsError, match=r"settings\.json.*; the file was left as it is"):
        uninstall(str(path), store)
    assert path.read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == ["settings.json", "state"]


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path: Path, store: Store) -> None:
    with pytest.raises(SettingsError):
        install(str(tmp_path), QUESTION, store)


def test_a_dry_run_shows_the_change_and_makes_none(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}')
    change = install(str(path), QUESTION, store, dry_run=True)
    assert change.diff().startswith(f"--- {path}\n+++ {path}\n")
    assert "\\ No newline at end of file" in change.diff()
    assert path.read_text() == '{"model": "opus"}'
    assert os.listdir(tmp_path) == ["settings.json"]


@given(_JSON, _JSON)
def test_an_element_that_is_added_and_removed_leaves_the_text(before: object, value: object) -> None:
    document = Document(json.dumps({"keep": before}, indent=3))
    added = document.append(document.root, value, "more")  # type: ignore[arg-type]
    assert json.loads(added.text) == {"keep": before, "more": value}
    assert added.remove(added.root, 1) == document  # type: ignore[arg-type]


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@given(st.text() | st.text('{}[]",:1e.-nulN \n', max_size=12))
def test_the_parser_takes_exactly_what_json_is(text: str) -> None:
    try:
        json.loads(text, parse_constant=_refuse)
        valid = True
    except ValueError:
        valid = False
    if valid:
        Document(text)
    else:
        with pytest.raises(JsonTextError):
            Document(text)
