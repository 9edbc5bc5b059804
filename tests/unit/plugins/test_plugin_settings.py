"""What a plugin's settings class allows, what it says of everything else, and the object that a plugin gets."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._plugins.discovery import resolve_settings
from hookrouter._plugins.index import DiscoveredPlugin, OwnSettings
from hookrouter._plugins.registry import Plugins, PluginStatus, build_settings
from hookrouter._plugins.settings_schema import check, declared, structure
from hookrouter.config import Config, PluginConfig
from hookrouter.storage.home import Home
from hookrouter.util.value import decode, encode

KEY = "plugins.p.settings"


class Mode(enum.Enum):
    LOOSE = "loose"
    STRICT = "strict"


@attrs.frozen
class Rule:
    pattern: str
    count: int = 1


@attrs.frozen
class Everything:
    text: str = "x"
    texts: tuple[str, ...] = attrs.field(default=("a",), metadata={"help": "some texts"})
    number: float = 1.0
    whole: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    flag: bool = False
    path: Path = Path("/tmp")
    mode: Mode = Mode.LOOSE
    word: Literal["up", "down"] = "up"
    maybe: str | None = None
    either: int | list[str] = 1
    table: dict[str, int] = attrs.field(factory=dict)
    rules: list[Rule] = attrs.field(factory=list)
    names: frozenset[str] = frozenset()
    pair: tuple[int, str] = (1, "a")
    anything: Any = None
    numbers: Sequence[float] = ()
    deep: Mapping[str, list[int]] = attrs.field(factory=dict)
    api_token: str = ""


@attrs.frozen
class Plain:
    deny: tuple[str, ...] = ("a",)
    limit: float = 1.0
    names: list[str] = attrs.field(factory=list)
    table: dict[str, int] = attrs.field(factory=dict)


@attrs.frozen
class Needy:
    where: str
    often: int = 2


def faults(kind: type[Any], table: dict[str, object]) -> list[str]:
    return [fault.removeprefix("plugins.p.settings.") for fault in check(kind, table, KEY).faults]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"text": 1}, "text: found 1; allowed: a text"),
        ({"texts": "a"}, "texts: found 'a'; allowed: a list of texts"),
        ({"texts": ["a", 1]}, "texts[1]: found 1; allowed: a text"),
        ({"number": True}, "number: found true; allowed: a number"),
        ({"number": "1"}, "number: found '1'; allowed: a number"),
        ({"whole": 1.0}, "whole: found 1.0; allowed: a whole number"),
        ({"flag": 1}, "flag: found 1; allowed: true or false"),
        ({"path": ""}, "path: found ''; allowed: a path"),
        ({"mode": "strickt"}, "mode: found 'strickt', did you mean 'strict'?; allowed: \"loose\" or \"strict\""),
        ({"word": 1}, 'word: found 1; allowed: "up" or "down"'),
        ({"maybe": []}, "maybe: found an empty list; allowed: a text"),
        ({"either": [1]}, "either: found a list; allowed: a whole number or a list of texts"),
        ({"table": {"a": "b"}}, "table.a: found 'b'; allowed: a whole number"),
        ({"rules": [{}]}, "rules[0].pattern: missing; it is required"),
        (
            {"rules": [{"pattern": "x", "cuont": 1}]},
            "rules[0].cuont: unknown key, did you mean 'count'?; allowed: pattern, count",
        ),
        ({"rules": ["x"]}, "rules[0]: found 'x'; allowed: a table"),
        ({"names": [1]}, "names[0]: found 1; allowed: a text"),
        ({"pair": [1]}, "pair: found a list; allowed: a list of 2 values"),
        ({"pair": ["a", "b"]}, "pair[0]: found 'a'; allowed: a whole number"),
        ({"deep": {"a": [1, "b"]}}, "deep.a[1]: found 'b'; allowed: a whole number"),
        ({"api_token": 12345}, "api_token: found a value that is not shown; allowed: a text"),
    ],
)
def test_a_fault_says_where_what_and_what_is_allowed(table: dict[str, object], fault: str) -> None:
    assert faults(Everything, table) == [fault]


def test_an_unknown_key_comes_with_the_one_that_was_meant() -> None:
    (fault,) = faults(Plain, {"denny": []})
    assert fault == "denny: unknown key, did you mean 'deny'?; allowed: deny, limit, names, table"


def test_all_faults_are_told_at_once_and_the_defaults_hold() -> None:
    own = check(Plain, {"deny": 1, "limit": "x", "names": ["kept?"]}, KEY)
    assert [problem[0] for problem in own.problems] == ["plugins.p.settings.deny", "plugins.p.settings.limit"]
    assert own.values == {"deny": ["a"], "limit": 1.0, "names": [], "table": {}}
    assert build_settings(Plain, own, {"names": ["kept?"]}) == Plain()


def test_a_validator_is_run_and_shows_no_secret() -> None:
    assert faults(Everything, {"whole": -1}) == ["plugins.p.settings: 'whole' must be >= 0: -1"]

    @attrs.frozen
    class Secretive:
        api_token: str = attrs.field(default="", validator=attrs.validators.max_len(3))
        other: str = attrs.field(default="")

        @other.validator
        def _check(self, _field: object, value: str) -> None:
            if value:
                raise ValueError(f"no good together: {value} and {self.api_token}")

    (fault,) = faults(Secretive, {"api_token": "abc", "other": "x"})
    assert fault.endswith("no good together: x and (hidden)")


def test_the_fields_are_described_with_type_default_and_help() -> None:
    fields = {
        name: (kind, required, default, text)
        for name, kind, required, default, text in check(Everything, {}, KEY).fields
    }
    assert fields["texts"] == ("list of texts", False, ["a"], "some texts")
    assert fields["mode"] == ('"loose" or "strict"', False, "loose", "")
    assert fields["rules"] == ("list of tables", False, [], "")
    assert fields["deep"] == ("table of a list of whole numbers", False, {}, "")
    assert {name: need for name, _, need, _, _ in check(Needy, {}, KEY).fields} == {"where": True, "often": False}


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (3, r"plugin_settings\(\) returned 3; allowed: an attrs class, or None"),
        (dict, "allowed: an attrs class"),
        (Plain(), "allowed: an attrs class"),
        (attrs.make_class("Odd", {"x": attrs.field(type=complex)}), "which no value of config.toml fits"),
        (attrs.make_class("Odd", {"x": attrs.field(type=list[complex])}), "which no value of config.toml fits"),
        (attrs.make_class("Odd", {"x": attrs.field(type="Nowhere")}), "import what annotations name at run time"),
    ],
)
def test_what_is_no_settings_class_is_refused(returned: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        declared(returned)
    assert declared(None) is None
    assert declared(Everything) is Everything


def test_a_rich_class_is_built_with_its_types() -> None:
    table = {
        "mode": "strict",
        "path": "~",
        "rules": [{"pattern": "x"}],
        "names": ["b", "a"],
        "pair": [2, "b"],
        "maybe": "m",
    }
    own = check(Everything, table, KEY)
    built = build_settings(Everything, own, table)
    assert own.problems == ()
    assert own.tuples is None
    assert built == Everything(
        mode=Mode.STRICT,
        path=Path("~").expanduser(),
        rules=[Rule("x")],
        names=frozenset({"a", "b"}),
        pair=(2, "b"),
        maybe="m",
    )
    assert own.values is not None
    assert (own.values["mode"], own.values["rules"]) == ("strict", [{"pattern": "x", "count": 1}])


TABLES = st.fixed_dictionaries(
    {},
    optional={
        "deny": st.lists(st.text(max_size=3), max_size=3),
        "limit": st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False),
        "names": st.lists(st.text(max_size=3), max_size=3),
        "table": st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
    },
)


@given(TABLES)
def test_plain_classes_are_built_without_cattrs_and_alike(table: dict[str, Any]) -> None:
    own = decode(OwnSettings, json.loads(json.dumps(encode(check(Plain, table, KEY)))))
    assert own is not None
    assert own.tuples == ("deny",)
    built, slowly = build_settings(Plain, own, table), structure(Plain, table)
    assert built == slowly
    assert type(built.limit) is type(slowly.limit) is float
    assert type(built.deny) is tuple


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from([field.name for field in attrs.fields(Everything)]) | st.text(max_size=5)


@given(st.dictionaries(KEYS, ANYTHING, max_size=4), st.sampled_from([Everything, Plain, Needy]))
def test_any_table_has_faults_or_gives_an_object(table: dict[str, Any], kind: type[Any]) -> None:
    own = check(kind, table, KEY)
    assert decode(OwnSettings, json.loads(json.dumps(encode(own)))) == own
    if own.problems:
        assert all(problem[0].startswith("plugins.p.settings") and problem[1] for problem in own.problems)
    else:
        assert build_settings(kind, own, table) == structure(kind, table)


def plugins(config: PluginConfig, kind: type[Any]) -> Plugins:
    index = [DiscoveredPlugin(name="p", value="p", hooks=("pre_tool_use",), settings=check(kind, {}, KEY))]
    own = {"p": check(kind, config.settings, KEY)}
    return Plugins(index, Config(plugins={"p": config}), pytest.fail, settings=own)


def test_a_plugin_with_wrong_settings_runs_with_its_defaults_and_says_so() -> None:
    registry = plugins(PluginConfig(settings={"deny": 1, "limit": 7}), Plain)
    (info,) = registry.listing()
    assert info.status == PluginStatus.ACTIVE
    assert info.problems == ("plugins.p.settings.deny: found 1; allowed: a list of texts",)
    assert [(one.name, text) for one, text in registry.with_invalid_settings()] == [("p", info.problems[0])]
    assert registry.settings("p")["limit"] == 1.0
    assert registry.declared(Plain) == Plain()


def test_one_that_fails_closed_does_not_run_with_half_its_settings() -> None:
    registry = plugins(PluginConfig(on_error="closed", settings={"deny": 1}), Plain)
    (info,) = registry.listing()
    assert (info.status, info.reason) == (
        PluginStatus.BROKEN,
        "plugins.p.settings.deny: found 1; allowed: a list of texts",
    )
    assert registry.broken_fail_closed(["pre_tool_use"]) == [info]
    assert registry.with_invalid_settings() == []


def test_one_that_lacks_what_it_requires_does_not_run() -> None:
    (info,) = plugins(PluginConfig(), Needy).listing()
    assert (info.status, info.reason) == (PluginStatus.BROKEN, "plugins.p.settings.where: missing; it is required")
    assert plugins(PluginConfig(settings={"where": "here"}), Needy).declared(Needy) == Needy("here")


def test_the_settings_of_a_class_that_nobody_or_several_declare_are_not_guessed() -> None:
    own = check(Plain, {}, KEY)
    index = [DiscoveredPlugin(name=name, value=name, hooks=(), settings=own) for name in ("a", "b")]
    registry = Plugins(index, Config(), pytest.fail, settings={"a": own, "b": own})
    with pytest.raises(LookupError, match="the plugins a, b declare"):
        registry.declared(Plain)
    with pytest.raises(LookupError, match="no enabled plugin declares"):
        registry.declared(Needy)


def test_what_cannot_be_checked_now_is_a_problem_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = DiscoveredPlugin(name="p", value="p", hooks=("pre_tool_use",), settings=check(Plain, {}, KEY))
    config = Config(plugins={"p": PluginConfig(on_error="closed", settings={"limit": 2.0})})
    home = Home.in_folder(str(tmp_path))

    def no_process(*_arguments: object, **_options: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr("hookrouter._plugins.scan._inspect", no_process)
    own = resolve_settings(home, [plugin], config)
    assert own["p"].faults == ("plugins.p.settings: cannot be checked: BlockingIOError: no more processes",)
    assert Plugins([plugin], config, pytest.fail, settings=own).listing()[0].status == PluginStatus.BROKEN
    right = check(Plain, {"limit": 2.0}, KEY)
    monkeypatch.setattr("hookrouter._plugins.scan.check_settings", lambda _asked: {"p": right})
    assert resolve_settings(home, [plugin], config) == {"p": right}
    monkeypatch.setattr("hookrouter._plugins.scan.check_settings", pytest.fail)
    assert resolve_settings(home, [plugin], config) == {"p": right}


@pytest.mark.parametrize(
    "record",
    [
        1,
        {"other": 1},
        {"values": 1},
        {"values": None, "tuples": None, "problems": [["a", 1]], "target": "", "fields": []},
    ],
)
def test_a_record_of_another_form_is_not_believed(record: object) -> None:
    with pytest.raises((TypeError, KeyError)):
        decode(OwnSettings, record)
