"""Plugins in ``[plugins] last`` see what the tool will get, whatever form the one that rewrote it has."""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import _wiring, hookimpl, waits
from hookrouter._contract.hook_names import hook_names
from hookrouter._isolation.progress import RunProgress
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.manager import implementations
from hookrouter._plugins.registry import Plugins
from hookrouter._routing.router import route
from hookrouter.config import Config, PluginConfig
from hookrouter.context import Context
from hookrouter.replies import (
    ElicitationResultReply,
    MessageDisplayReply,
    PermissionRequestReply,
    PostToolUseReply,
    PreToolUseReply,
)
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.testing import sample
from hookrouter.util.time_limit import PluginTimeout
from support.safety import safety

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hookrouter._routing.output import Routed
    from hookrouter.replies import Reply


BAD = "rm -rf /"

FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "tool": ("bash", {}),
    "tool, tryfirst": ("bash", {"tryfirst": True}),
    "tool, trylast": ("bash", {"trylast": True}),
    "event": ("", {}),
    "event, tryfirst": ("", {"tryfirst": True}),
    "event, trylast": ("", {"trylast": True}),
    "raw": ("raw", {}),
    "raw, trylast": ("raw", {"trylast": True}),
    "tool wrapper": ("bash", {"wrapper": True}),
    "tool wrapper, tryfirst": ("bash", {"wrapper": True, "tryfirst": True}),
    "event wrapper": ("", {"wrapper": True}),
    "event wrapper, trylast": ("", {"wrapper": True, "trylast": True}),
    "raw wrapper": ("raw", {"wrapper": True}),
    "waits": ("", {"waits": True}),
}
"""The forms that an implementation can have: of which hook it is, and how it is marked."""


class Event(NamedTuple):
    """An event in which replies change something: which part of the payload, by which replies, and what refuses it."""

    name: str
    tool: str | None
    part: str
    key: str
    """The text of the part that is changed; empty if the part is a text."""
    replies: dict[str, Callable[[Any], Reply]]
    refusal: Callable[[], Reply | None]
    refused: str | None
    """The decision of a refusal."""

    def text(self, payload: Any) -> Any:
        return payload[self.part][self.key] if self.key else payload[self.part]

    def changed(self, payload: Any, text: str) -> Any:
        return {**payload[self.part], self.key: text} if self.key else text


def with_input(build: Callable[..., Reply]) -> Callable[[Any], Reply]:
    return lambda value: build(updated_input=value)


EVENTS = (
    Event(
        "PreToolUse",
        "Bash",
        "tool_input",
        "command",
        {
            "update_input": PreToolUseReply.update_input,
            "allow": with_input(PreToolUseReply.allow),
            "ask": with_input(PreToolUseReply.ask),
        },
        lambda: PreToolUseReply.deny("no"),
        "deny",
    ),
    Event(
        "PermissionRequest",
        "Bash",
        "tool_input",
        "command",
        {"allow": with_input(PermissionRequestReply.allow)},
        lambda: PermissionRequestReply.deny("no"),
        "deny",
    ),
    Event(
        "PostToolUse",
        "Bash",
        "tool_response",
        "stdout",
        {"update_output": PostToolUseReply.update_output, "update_mcp_output": PostToolUseReply.update_mcp_output},
        lambda: PostToolUseReply.block("no"),
        "block",
    ),
    Event("MessageDisplay", None, "delta", "", {"display": MessageDisplayReply.display}, lambda: None, None),
    Event(
        "ElicitationResult",
        None,
        "content",
        "name",
        {"accept": ElicitationResultReply.accept},
        ElicitationResultReply.decline,
        "decline",
    ),
)


def hook_of(event: Event, form: str) -> str | None:
    """Return the hook of a form in an event; None if it has none."""
    suffix = FORMS[form][0]
    base = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event.name).lstrip("_")
    if suffix == "raw":
        return "raw_event"
    if suffix and event.tool is None:
        return None
    return f"{base}_{suffix}" if suffix else base


def implementation(event: Event, form: str, body: Callable[[Any], Reply | None]) -> dict[str, Any]:
    """Return what a plugin's class holds: an implementation of that form, which replies to a payload."""
    hook, options = hook_of(event, form), dict(FORMS[form][1])
    assert hook is not None
    is_raw = hook == "raw_event"

    def of_event(self: Any, event: Any) -> Any:
        return body(event.raw)

    def of_raw(self: Any, payload: Any) -> Any:
        return body(payload)

    def event_wrapper(self: Any, event: Any) -> Generator[None, list[Any], list[Any]]:
        replies = yield
        reply = body(event.raw)
        return replies if reply is None else [*replies, reply]

    def raw_wrapper(self: Any, payload: Any) -> Generator[None, list[Any], list[Any]]:
        replies = yield
        reply = body(payload)
        return replies if reply is None else [*replies, reply]

    is_wrapper = options.get("wrapper")
    function: Any = (raw_wrapper if is_raw else event_wrapper) if is_wrapper else (of_raw if is_raw else of_event)
    function.__name__ = hook
    if options.pop("waits", False):
        function = waits(5)(function)
    return {hook: hookimpl(**options)(function)}


def plugin(name: str, *parts: dict[str, Any]) -> object:
    return type(name, (), {key: value for part in parts for key, value in part.items()})()


def routed(event: Event, home: Home, config: Config, progress: RunProgress | None = None, **plugins: object) -> Routed:
    """Fire the event's sample at plugins, by name."""
    payload = sample(event.name, event.tool)
    found = [
        DiscoveredPlugin(name=name, value=name, hooks=tuple(implementations(made))) for name, made in plugins.items()
    ]
    registry = Plugins(found, config, lambda name, text: pytest.fail(f"{name}: {text}"), plugins)
    context = Context(
        event=event.name,
        payload=payload,
        home=home,
        config=config,
        environ={},
        plugins=registry,
        journal=Journal(home.logs),
        wiring=_wiring,
        record={},
    )
    return route(registry, hook_names(event.name, event.tool), payload, context, progress=progress)


def played(
    home: Home, event: Event, rewriter: str, reply: str, guard: str, last: tuple[str, ...]
) -> tuple[list[str], Routed]:
    """Return what the guard saw, call after call, and what came of the event."""
    seen: list[str] = []

    def rewrite(payload: Any) -> Reply:
        return event.replies[reply](event.changed(payload, BAD))

    def look(payload: Any) -> Reply | None:
        seen.append(event.text(payload))
        return event.refusal() if seen[-1] == BAD else None

    made = routed(
        event,
        home,
        Config(plugin_last=last),
        guard=plugin("Guard", implementation(event, guard, look)),
        rewriter=plugin("Rewriter", implementation(event, rewriter, rewrite)),
    )
    assert not made.fault
    assert not [call for call in made.calls if "error" in call]
    return seen, made


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home.in_folder(str(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_a_guard_in_last_sees_what_any_form_has_made(event: Event, home: Home) -> None:
    rows = 0
    for reply, rewriter, guard in itertools.product(event.replies, FORMS, FORMS):
        is_known = hook_of(event, rewriter) is not None and hook_of(event, guard) is not None
        is_more = reply == next(iter(event.replies)) or guard in ("tool", "event wrapper")
        if guard == "waits" or not is_known or not is_more:
            continue
        for last in (("guard",), ("guard", "rewriter")):
            rows += 1
            seen, result = played(home, event, rewriter, reply, guard, last)
            with safety("a guard in last refuses what the tool would get"):
                found = (seen[-1], result.output.decision)
                assert found == (BAD, event.refused), (rewriter, reply, guard, last)
    assert rows > 60


REWRITES: dict[str, Callable[[str], str]] = {
    "forbids": lambda text: f"{text} X",
    "adds": lambda text: f"{text} a",
    "cleans": lambda text: text.replace(" X", ""),
    "sets": lambda _: "ls",
    "sets a forbidden one": lambda _: "X",
}

PRE_TOOL_USE = EVENTS[0]


class Part(NamedTuple):
    """A plugin of a drawn run: what it does, and by which implementations."""

    kind: str
    forms: tuple[str, ...]
    reply: str = "update_input"


def drawn_plugin(name: str, part: Part, seen: dict[str, list[str]]) -> object:
    def body(payload: Any) -> Reply | None:
        text = payload["tool_input"]["command"]
        if part.kind in REWRITES:
            made = PRE_TOOL_USE.replies[part.reply]
            return made(PRE_TOOL_USE.changed(payload, REWRITES[part.kind](text)))
        seen.setdefault(name, []).append(text)
        if part.kind == "fails":
            raise RuntimeError("a bug")
        if part.kind == "times out":
            raise PluginTimeout(1)
        return PreToolUseReply.deny("no") if "X" in text else PreToolUseReply.allow() if part.kind == "grants" else None

    return plugin(name, *(implementation(PRE_TOOL_USE, form, body) for form in part.forms))


def of_one_hook_each(forms: list[str]) -> tuple[str, ...]:
    return tuple({hook_of(PRE_TOOL_USE, form): form for form in forms}.values())


FREE = st.lists(st.sampled_from(list(FORMS)), min_size=1, max_size=2).map(of_one_hook_each)
AT_ONCE = st.lists(st.sampled_from([form for form in FORMS if form != "waits"]), min_size=1, max_size=2).map(
    of_one_hook_each
)
REWRITERS = st.builds(Part, st.sampled_from(list(REWRITES)), FREE, st.sampled_from(list(PRE_TOOL_USE.replies)))
GUARDS = st.builds(Part, st.sampled_from(["looks", "looks", "grants", "fails", "times out"]), AT_ONCE)


@given(
    parts=st.lists(REWRITERS, min_size=1, max_size=3), guards=st.lists(GUARDS, min_size=1, max_size=2), data=st.data()
)
def test_no_rewritten_input_passes_a_guard_in_last(
    home: Home, parts: list[Part], guards: list[Part], data: st.DataObject
) -> None:
    seen: dict[str, list[str]] = {}
    kinds = {f"guard{number}": part for number, part in enumerate(guards)}
    made = {name: drawn_plugin(name, part, seen) for name, part in kinds.items()}
    made |= {f"r{number}": drawn_plugin(f"r{number}", part, seen) for number, part in enumerate(parts)}
    names = data.draw(st.permutations(list(made)))
    last = [name for name in names if name in kinds or data.draw(st.booleans())]
    order = [name for name in names if name not in last and data.draw(st.booleans())]
    config = Config(
        plugin_order=tuple(order),
        plugin_last=tuple(last),
        plugins={name: PluginConfig(on_error="closed") for name in kinds},
    )
    progress = RunProgress()
    with open(os.devnull, "wb") as nobody:
        progress.tell_to(nobody.fileno(), {})
        result = routed(PRE_TOOL_USE, home, config, progress, **made)
        check(result, kinds, seen)
        # A plugin takes its process with it, and another process goes on: with what those before it have said.
        calls = list(progress.calls.items())
        for number, ((name, hook), _) in enumerate(calls):
            resumed = RunProgress()
            resumed.calls.update(calls[:number])
            entry = {"plugin": name, "hook": hook, "ms": 1.0, "outcome": "died", "error": "it ended", "killed": False}
            resumed.dead[name] = entry
            resumed.tell_to(nobody.fileno(), {})
            check(routed(PRE_TOOL_USE, home, config, resumed, **made), kinds, seen, dead=name)


def check(result: Routed, guards: dict[str, Part], seen: dict[str, list[str]], dead: str = "") -> None:
    """Hold what came of a run against what its guards saw."""
    assert not result.fault
    specific = json.loads(result.output.stdout or "{}").get("hookSpecificOutput", {})
    if result.output.decision == "deny":
        return
    final = specific.get("updatedInput", sample("PreToolUse", "Bash")["tool_input"])["command"]
    with safety("a guard in last is asked about what the tool gets"):
        assert dead not in guards
        assert "X" not in final
        assert all(part.kind not in ("fails", "times out") for part in guards.values())
        if not dead:
            assert {name: texts[-1] for name, texts in seen.items()} == dict.fromkeys(guards, final)


def test_what_is_said_again_takes_the_place_of_what_was_said(home: Home) -> None:
    def asks(payload: Any) -> Reply | None:
        text = payload["tool_input"]["command"]
        if text == "ls":
            return None
        return PreToolUseReply.allow(updated_input=PRE_TOOL_USE.changed(payload, "date"), context=f"about {text}")

    def rewrite(payload: Any) -> Reply:
        return PreToolUseReply.update_input(PRE_TOOL_USE.changed(payload, "ls"))

    config = Config(plugin_last=("first", "second"))
    first, second = (implementation(PRE_TOOL_USE, "tool", body) for body in (asks, rewrite))
    result = routed(PRE_TOOL_USE, home, config, first=plugin("First", first), second=plugin("Second", second))
    # What it granted was another command, and so was what it told Claude about.
    assert json.loads(result.output.stdout)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "updatedInput": {**sample("PreToolUse", "Bash")["tool_input"], "command": "ls"},
    }
    assert [(call["plugin"], call.get("again")) for call in result.calls] == [
        ("first", None),
        ("second", None),
        ("first", True),
    ]


PERMISSION_REQUEST = EVENTS[1]

OF_THE_CALL: dict[str, tuple[Callable[[Any], Reply | None], str | None]] = {
    "refuses": (lambda _: PreToolUseReply.deny("no"), "deny"),
    "asks": (lambda _: PreToolUseReply.ask("is it right?"), None),
    "rewrites": (lambda given: PreToolUseReply.update_input(PRE_TOOL_USE.changed(given, "ls")), None),
    "grants": (lambda _: PreToolUseReply.allow(), "allow"),
    "says nothing": (lambda _: None, "allow"),
}
"""What a guard says about the call that a PermissionRequest's reply has made, and what comes of the request."""


@pytest.mark.parametrize("form", [form for form, (hook, _) in FORMS.items() if hook != "raw"])
def test_a_guard_of_the_call_sees_what_a_permission_s_reply_makes_of_it(form: str, home: Home) -> None:
    seen: list[str] = []
    for rewriter, (says, (reply, decision)) in itertools.product(FORMS, OF_THE_CALL.items()):
        seen.clear()

        def look(payload: Any, reply: Callable[[Any], Reply | None] = reply) -> Reply | None:
            seen.append(PRE_TOOL_USE.text(payload))
            return reply(payload) if seen[-1] == BAD else None

        def rewrite(payload: Any) -> Reply:
            return PermissionRequestReply.allow(updated_input=PERMISSION_REQUEST.changed(payload, BAD))

        result = routed(
            PERMISSION_REQUEST,
            home,
            Config(plugin_last=("guard",)),
            guard=plugin("Guard", implementation(PRE_TOOL_USE, form, look)),
            rewriter=plugin("Rewriter", implementation(PERMISSION_REQUEST, rewriter, rewrite)),
        )
        with safety("a guard in last is asked about the call that the tool gets"):
            assert (seen, result.output.decision) == ([BAD], decision), (rewriter, says)
        assert not result.fault
        assert ("updatedInput" in result.output.stdout) is (decision == "allow")


@pytest.mark.parametrize("on_error", ["closed", "open"])
def test_a_guard_of_the_call_that_fails_or_is_not_in_last(on_error: Any, home: Home) -> None:
    calls: list[str] = []

    def fail(_: Any) -> None:
        calls.append("guard")
        raise RuntimeError("a bug")

    def rewrite(payload: Any) -> Reply:
        return PermissionRequestReply.allow(updated_input=PERMISSION_REQUEST.changed(payload, BAD))

    made: dict[str, Any] = {
        "guard": plugin("Guard", implementation(PRE_TOOL_USE, "tool", fail)),
        "rewriter": plugin("Rewriter", implementation(PERMISSION_REQUEST, "event", rewrite)),
    }
    plugins = {"guard": PluginConfig(on_error=on_error)}
    result = routed(PERMISSION_REQUEST, home, Config(plugin_last=("guard",), plugins=plugins), **made)
    assert result.output.decision == ("deny" if on_error == "closed" else "allow")
    assert [(call["plugin"], call["outcome"]) for call in result.calls] == [
        ("rewriter", "replied"),
        ("guard", "failed"),
    ]
    # Refused, or let by: either way somebody is told why.
    assert "a bug" in result.output.stdout
    # One that has ended an earlier process of the run is not called again.
    progress = RunProgress()
    entry = {"plugin": "guard", "hook": "pre_tool_use_bash", "ms": 1.0, "outcome": "died", "error": "it ended"}
    progress.dead["guard"] = {**entry, "killed": False}
    calls.clear()
    config = Config(plugin_last=("guard",), plugins=plugins)
    again = routed(PERMISSION_REQUEST, home, config, progress, **made)
    assert (again.output.decision, calls) == ("deny" if on_error == "closed" else "allow", [])
    # It was asked when Claude called: it is not asked again if nothing is rewritten, or if it is not in last.
    assert routed(PERMISSION_REQUEST, home, Config(plugins=plugins), **made).output.decision == "allow"
    assert routed(PERMISSION_REQUEST, home, config, guard=made["guard"]).output.decision is None
    assert calls == []


def test_a_plugin_is_called_where_the_user_puts_it(home: Home) -> None:
    called: list[str] = []

    def noted(name: str, form: str) -> object:
        return plugin(name, implementation(PRE_TOOL_USE, form, lambda _: called.append(name)))

    made = {"a": noted("a", "tool, tryfirst"), "b": noted("b", "tool, trylast"), "c": noted("c", "tool, tryfirst")}
    for config, order in (
        (Config(), "acb"),
        (Config(plugin_order=("b",)), "bac"),
        (Config(plugin_order=("c", "b")), "cba"),
        (Config(plugin_last=("a",)), "cba"),
        (Config(plugin_order=("b",), plugin_last=("c", "a")), "bca"),
    ):
        called.clear()
        routed(PRE_TOOL_USE, home, config, **made)
        assert "".join(called) == order, config
