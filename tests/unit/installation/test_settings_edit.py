"""The entries in the text of settings.json: nothing else in it ever changes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrouter._installation.claude_plugin import enabled_names
from hookrouter._installation.registrations import Registration, RegistrationSource, registrations
from hookrouter._installation.settings_document import opened, set_member
from hookrouter._installation.settings_edit import (
    InstallState,
    SettingsError,
    differences,
    hooks_disabled,
    merge,
    registered,
    wrapped,
)

if TYPE_CHECKING:
    pass

from support.registrations import GUARD, HOOKS, JSON, NAMES, QUESTION, SCRIPT, wanted

# From 3.14 on the parser comes to the end of it.
TOO_DEEP = "nested too deeply" if sys.version_info < (3, 14) else "Expecting value"


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
    st.dictionaries(NAMES, JSON, max_size=2),
    st.just({})
    | st.builds(
        lambda hooks: {"hooks": hooks},
        st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "Setup"]), st.lists(_GROUP, max_size=2), max_size=3),
    ),
    st.dictionaries(NAMES.map(lambda name: f"z{name}"), JSON, max_size=2),
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


_WANTED = st.builds(lambda hooks, closed: wanted(*hooks, closed=closed), st.sets(HOOKS, max_size=4), st.booleans())


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
        ("[" * 100_000, TOO_DEEP),
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


def test_a_number_of_thousands_of_digits_is_no_fault() -> None:
    number = "9" * 5000
    entry = f'{{"type":"http","url":"http://127.0.0.1:1/","timeout":{number}}}'
    text = f'{{"hooks":{{"Stop":[{{"hooks":[{entry}]}}]}},"enabledPlugins":{{"a":{number},"hookrouter@here":true}}}}'
    assert registered(text) == []
    assert enabled_names(text) == ["hookrouter@here"]
    assert set_member(opened(f'{{"a":{{"b":{number}}}}}'), "a", "b", 1).text == '{"a":{"b":1}}'


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
    updated, _ = merge(edited, QUESTION, InstallState(hooks=""))
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


def _by_hand(command: str, matcher: str | None = "AskUserQuestion", event: str = "PreToolUse") -> dict[str, Any]:
    group: dict[str, Any] = {"hooks": [{"type": "command", "command": command}]}
    return {event: [group if matcher is None else {"matcher": matcher, **group}]}


def _text(*events: dict[str, Any]) -> str:
    return json.dumps({"hooks": {event: groups for each in events for event, groups in each.items()}}, indent=2)


BY_HAND = "timeout 30 /opt/hookrouter/bin/hookrouter run pre-tool-use || true"


@pytest.mark.parametrize("matcher", [None, "*", "AskUserQuestion", "AskUserQuestion|Bash", "Ask.*"])
def test_nothing_is_added_beside_an_entry_that_was_changed_by_hand(matcher: str | None) -> None:
    text = _text(_by_hand(BY_HAND, matcher))
    after, state = merge(text, QUESTION, None)
    assert after is not None
    assert [entry.event for entry in registered(after)] == ["Stop"]
    assert [entry.command for entry in wrapped(after)] == [BY_HAND]
    (found,) = differences(after, QUESTION)
    assert found.harmless
    assert BY_HAND in found.text
    assert "by hand" in found.fix
    assert merge(after, QUESTION, state)[0] == after
    assert merge(after, (), state)[0] == text


def test_an_entry_by_hand_that_takes_only_some_calls_is_told_as_a_fault() -> None:
    entries = wanted("pre_tool_use_ask_user_question", "pre_tool_use_bash")
    text = _text(_by_hand(BY_HAND))
    assert merge(text, entries, None)[0] == text
    (found,) = differences(text, entries)
    assert not found.harmless
    assert "not registered for all calls" in found.text
    assert [found.harmless for found in differences(text, GUARD[:1])] == [False]


def test_an_entry_by_hand_beside_ours_runs_hooks_twice() -> None:
    ours, _ = merge("{}", QUESTION, None)
    document = json.loads(ours or "")
    document["hooks"]["PreToolUse"] += _by_hand(BY_HAND)["PreToolUse"]
    (found,) = differences(json.dumps(document), QUESTION)
    assert (found.harmless, "runs twice" in found.text) == (False, True)


@pytest.mark.parametrize(
    ("event", "matcher"), [("Stop", None), ("PreToolUse", "Bash"), ("PreToolUse", "mcp__.*"), ("PostToolUse", None)]
)
def test_an_entry_by_hand_for_other_calls_stands_in_nobody_s_way(event: str, matcher: str | None) -> None:
    entries = wanted("pre_tool_use_ask_user_question")
    after, _ = merge(_text(_by_hand(BY_HAND, matcher, event)), entries, None)
    assert differences(after, entries) == []


def test_the_exec_form_of_an_entry_by_hand_is_seen() -> None:
    handler = {"type": "command", "command": "timeout", "args": ["30", "/opt/hookrouter", "run", "stop"]}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [handler]}]}})
    assert [entry.event for entry in wrapped(text)] == ["Stop"]
    assert registered(text) == []


def test_an_entry_that_wakes_is_told_from_one_that_does_not() -> None:
    values = {"file_changed": ("bell",)}
    one = RegistrationSource(("file_changed",), 1, False, matching=values)
    other = one._replace(wakes=frozenset(["file_changed"]))
    plain, waking = (registrations([source], SCRIPT, None) for source in (one, other))
    text, state = merge(None, waking, None)
    assert text is not None
    assert differences(text, waking) == []
    assert any(not found.harmless for found in differences(text, plain))
    both, _ = merge(text, [*plain, *waking], state)
    handlers = [group["hooks"][0] for group in json.loads(both or "")["hooks"]["FileChanged"]]
    assert [handler.get("asyncRewake") for handler in handlers] == [True, None]
    assert differences(both, [*plain, *waking]) == []
    changed, _ = merge((text or "").replace("true", "false"), waking, state)
    assert differences(changed, waking) == []
