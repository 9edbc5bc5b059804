"""The fixtures for plugin authors: what they report, and that a plugin which fails never passes a test."""

from __future__ import annotations

import os
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pluggy import PluginValidationError

from hookrouter import hookimpl, waits
from hookrouter._contract.tables import EVENTS
from hookrouter.events import EVENT_CLASSES
from hookrouter.messaging.gateway import Message
from hookrouter.replies import (
    PermissionRequestReply,
    PreToolUseReply,
    StopReply,
    TaskCompletedReply,
    UserPromptSubmitReply,
)
from hookrouter.samples import sample
from hookrouter.terminals import TerminalGone
from hookrouter.testing import FakeGateway, FakePane, HookRecorder, Hooks, PluginFailed
from hookrouter.testing import __all__ as exported

pytest_plugins = ["pytester"]

HEAVY = ("attrs", "attr", "cattrs", "typer", "requests", "backoff", "hypothesis", "json", "subprocess")


class Guard:
    """Refuses, asks, or rewrites, as the command says."""

    @hookimpl
    def pre_tool_use_bash(self, event: Any, tool_input: Any, context: Any) -> Any:
        command = event.raw["tool_input"]["command"]
        if command.startswith("rm"):
            return PreToolUseReply.deny("no rm here")
        if command.startswith("pip"):
            return PreToolUseReply.update_input({**event.raw["tool_input"], "command": f"uv {command}"})
        if command.startswith("raise"):
            raise RuntimeError("the guard is broken")
        return None


@pytest.fixture
def guarded(hooks: Hooks) -> Hooks:
    hooks.add(Guard)
    return hooks


def test_a_refusal_is_reported_with_its_reason_and_its_plugin(guarded: Hooks) -> None:
    result = guarded.fire("PreToolUse", tool="Bash", tool_input={"command": "rm -rf x"})

    assert (result.decision, result.reason, result.by) == ("deny", "guard: no rm here", ("guard",))
    assert result.output["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert result.payload["tool_input"] == {"command": "rm -rf x"}
    assert [(record["plugin"], record["hook"], record["outcome"]) for record in result.records] == [
        ("guard", "pre_tool_use_bash", "replied")
    ]
    assert result.of("guard") == result.records
    assert result.of("another") == ()


def test_the_event_is_named_in_any_spelling(guarded: Hooks) -> None:
    for name in ("PreToolUse", "pre-tool-use", "pre_tool_use"):
        assert guarded.fire(name, "Bash", tool_input={"command": "rm"}).event == "PreToolUse"


def test_silence_is_no_decision(guarded: Hooks) -> None:
    result = guarded.fire("PreToolUse", tool="Bash")

    assert (result.decision, result.reason, result.by, result.stdout, result.output) == (None, "", (), "", {})
    assert (result.context, result.system_message, result.updated_input, result.exit_code) == ("", "", None, 0)


def test_a_hook_that_nobody_implements_calls_nobody(guarded: Hooks) -> None:
    result = guarded.fire("Stop")

    assert (result.records, result.calls) == ((), ())


def test_a_rewritten_input_is_reported(guarded: Hooks) -> None:
    result = guarded.fire("PreToolUse", tool="Bash", tool_input={"command": "pip list"})

    assert result.updated_input == {"command": "uv pip list"}
    assert result.decision is None


@pytest.mark.parametrize(
    ("event", "reply"),
    [
        ("PreToolUse", PreToolUseReply.update_input({"cmd": 5})),
        ("PreToolUse", PreToolUseReply.allow(updated_input={"cmd": 5})),
        ("PreToolUse", PreToolUseReply.ask(updated_input={"cmd": 5})),
        ("PermissionRequest", PermissionRequestReply.allow(updated_input={"cmd": 5})),
    ],
)
def test_an_input_that_the_tool_cannot_use_fails_the_test(
    hooks: Hooks, hook_recorder: HookRecorder, event: str, reply: Any
) -> None:
    hook_recorder.replies["pre_tool_use" if event == "PreToolUse" else "permission_request"] = reply

    with pytest.raises(PluginFailed) as failed:
        hooks.fire(event, tool="Bash", tool_input={"command": "ls", "new": 1})

    said = str(failed.value)
    assert "recorder gives a tool an input that does not fit: cmd: unknown, Bash takes command, timeout, desc" in said
    assert "recorder gives a tool an input that does not fit: command: missing, allowed string" in said
    assert hooks.fire(event, tool="Bash", check=False).updated_input == {"cmd": 5}


@pytest.mark.parametrize(
    ("tool", "given", "updated"),
    [
        ("Bash", {"command": "ls", "new": 1}, {"command": "nice ls", "new": 2}),
        ("Bash", {"command": 5}, {"command": 5, "timeout": 6}),
        ("mcp__files__move", {"from": "x"}, {"to": "y"}),
        ("NewerTool", {"from": "x"}, {"to": "y"}),
    ],
)
def test_what_claude_gave_itself_and_tools_that_are_not_known_are_no_fault(
    hooks: Hooks, hook_recorder: HookRecorder, tool: str, given: dict[str, Any], updated: dict[str, Any]
) -> None:
    hook_recorder.replies["pre_tool_use"] = PreToolUseReply.update_input(updated)
    payload = {**sample("PreToolUse", "Bash"), "tool_name": tool, "tool_input": given}

    assert hooks.fire(payload).updated_input == updated


def test_a_plugin_that_takes_too_long_is_told_which_setting_that_is(hooks: Hooks) -> None:
    class Slow:
        @hookimpl
        def pre_tool_use_bash(self, event: Any, context: Any) -> None:
            threading.Event().wait(0.15)

        @hookimpl
        def pre_tool_use(self, event: Any, context: Any) -> None:
            threading.Event().wait(60)

    hooks.add(Slow, "slow")
    hooks.configure("[plugins.slow]\ntimeout = 0.4")

    said = r"slow: timed out in pre_tool_use: .* its timeout of 0\.4 s \(\[plugins\.slow\] timeout, for all its calls"
    with pytest.raises(PluginFailed, match=said):
        hooks.fire("PreToolUse", tool="Bash")


@pytest.mark.parametrize("error", [ValueError("not done"), SystemExit(1)])
def test_what_fails_after_the_reply_fails_the_test(hooks: Hooks, error: BaseException) -> None:
    done: list[str] = []

    class Late:
        @hookimpl
        def stop(self, event: Any, context: Any) -> Any:
            def fails() -> None:
                raise error

            context.after_reply(fails)
            context.after_reply(lambda: done.append("done"))
            return StopReply.message("said")

    class Other:
        @hookimpl(trylast=True)
        def stop(self, event: Any, context: Any) -> None: ...

    hooks.add(Late)
    hooks.add(Other)

    with pytest.raises(PluginFailed, match=r"late: failed in what was to follow its reply: \w+: ") as failed:
        hooks.fire("Stop")
    assert failed.value.__cause__ is error
    assert failed.value.__cause__.__traceback__ is not None

    assert hooks.fire("Stop", check=False).system_message == "said"
    assert done == ["done", "done"]


def test_the_replies_of_every_kind_of_event_are_read(hooks: Hooks, hook_recorder: HookRecorder) -> None:
    hook_recorder.replies.update(
        permission_request=PermissionRequestReply.deny("not now"),
        stop=StopReply.block("go on"),
        task_completed=TaskCompletedReply.block("not done"),
        user_prompt_submit=UserPromptSubmitReply.context("it is late"),
        session_end=None,
    )

    said = hooks.fire("PermissionRequest", tool="Bash")
    assert (said.decision, said.reason) == ("deny", "recorder: not now")
    said = hooks.fire("Stop")
    assert (said.decision, said.reason) == ("block", "recorder: go on")
    said = hooks.fire("TaskCompleted")
    assert (said.decision, said.reason, said.exit_code) == ("block", "recorder: not done", 2)
    said = hooks.fire("UserPromptSubmit")
    assert (said.decision, said.context) == (None, "it is late")
    hook_recorder.replies["stop"] = StopReply.halt("enough", system_message="the day is over")
    said = hooks.fire("Stop")
    assert (said.decision, said.reason, said.system_message) == ("halt", "recorder: enough", "the day is over")


def test_a_plugin_that_raises_fails_the_test_with_its_own_exception(guarded: Hooks) -> None:
    with pytest.raises(PluginFailed, match=r"guard: failed in pre_tool_use_bash: RuntimeError: the guard") as failed:
        guarded.fire("PreToolUse", tool="Bash", tool_input={"command": "raise"})
    assert isinstance(failed.value.__cause__, RuntimeError)

    result = guarded.fire("PreToolUse", tool="Bash", tool_input={"command": "raise"}, check=False)
    assert result.decision is None
    assert "the guard is broken" in result.failures[0]


def test_a_reply_for_no_hook_is_refused_with_what_was_meant(hook_recorder: HookRecorder) -> None:
    with pytest.raises(ValueError, match="there is no hook 'stopp'; did you mean 'stop'"):
        hook_recorder.replies["stopp"] = StopReply.message("never said")
    with pytest.raises(ValueError, match="did you mean 'pre_tool_use_bash'"):
        hook_recorder.replies.update({"pre_tool_use_bsh": None})
    assert not hook_recorder.replies


def test_a_reply_of_the_wrong_kind_fails_the_test(hooks: Hooks, hook_recorder: HookRecorder) -> None:
    hook_recorder.replies["stop"] = PreToolUseReply.deny("no")

    with pytest.raises(PluginFailed, match=r"stop.*StopReply"):
        hooks.fire("Stop")


def test_a_plugin_that_ends_the_process_fails_the_test_and_no_other(hooks: Hooks) -> None:
    class Exits:
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            os._exit(3)

        @hookimpl
        def session_end(self, event: Any, context: Any) -> None:
            sys.exit(4)

    before, open_files = os._exit, len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    hooks.add(Exits)
    for event in ("Stop", "SessionEnd"):
        with pytest.raises(PluginFailed, match="exits: failed in"):
            hooks.fire(event)
    assert os._exit is before
    if open_files:
        assert len(os.listdir("/proc/self/fd")) == open_files


def test_a_plugin_that_hangs_fails_the_test(hooks: Hooks) -> None:
    class Slow:
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            while True:
                pass

    hooks.add(Slow)
    hooks.configure("[plugins.slow]\ntimeout = 0.05")

    with pytest.raises(PluginFailed, match="slow: timed out in stop"):
        hooks.fire("Stop")


def test_what_a_plugin_leaves_changed_fails_the_test_and_is_put_back(
    hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Leaky:
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            os.environ["LEAKED"] = "1"
            os.environ.pop("KEPT")
            os.chdir(tmp_path)

    monkeypatch.setenv("KEPT", "yes")
    before = os.getcwd()
    hooks.add(Leaky)

    with pytest.raises(PluginFailed, match=r"leaky: changed the working folder, .*KEPT, LEAKED\) in stop"):
        hooks.fire("Stop")
    assert (os.getcwd(), os.environ["KEPT"], "LEAKED" in os.environ) == (before, "yes", False)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("def pre_tool_use_bsh(self, event, context): ...", "did you mean 'pre_tool_use_bash'"),
        ("def stop(self, event, contxt): ...", "contxt"),
    ],
    ids=["misspelt", "argument"],
)
def test_a_hook_that_could_never_be_called_is_said_at_once(hooks: Hooks, method: str, said: str) -> None:
    namespace: dict[str, Any] = {"hookimpl": hookimpl}
    exec(f"class Plugin:\n    @hookimpl\n    {method}", namespace)

    with pytest.raises(PluginValidationError, match=said):
        hooks.add(namespace["Plugin"])


def test_a_payload_that_claude_code_would_not_send_is_refused(guarded: Hooks) -> None:
    for bad, said in (
        ({"tool_inputs": {}}, "did you mean 'tool_input'"),
        ({"tool_input": "ls"}, "tool_input: found string"),
        ({"tool_use_id": None}, "tool_use_id: missing"),
    ):
        with pytest.raises(ValueError, match=said):
            guarded.fire("PreToolUse", tool="Bash", **bad)
    with pytest.raises(ValueError, match="did you mean 'PreToolUse'"):
        guarded.fire("PreToolUze")
    with pytest.raises(ValueError, match="tool 'Bsh'"):
        guarded.fire("PreToolUse", tool="Bsh")


def test_a_whole_payload_can_be_fired_also_of_an_event_nobody_knows(hooks: Hooks, hook_recorder: HookRecorder) -> None:
    payload = sample("PreToolUse", "mcp__db__drop", tool_input={"table": "users"})
    result = hooks.fire(payload)
    assert result.payload == payload
    assert hook_recorder.hooks == ["pre_tool_use_mcp", "pre_tool_use", "raw_event"]
    call = hook_recorder.calls[0]
    assert (call.arguments["server"], call.arguments["tool"]) == ("db", "drop")

    hook_recorder.clear()
    hooks.fire({"hook_event_name": "Tomorrow", "session_id": "s"})
    assert [(call.hook, call.arguments["event_name"]) for call in hook_recorder.calls] == [("raw_event", "Tomorrow")]
    with pytest.raises(ValueError, match="hook_event_name"):
        hooks.fire({"session_id": "s"})


def test_no_plugin_is_an_error(hooks: Hooks) -> None:
    with pytest.raises(ValueError, match=r"hooks\.add"):
        hooks.fire("Stop")


def test_a_name_is_given_once(hooks: Hooks) -> None:
    hooks.add(Guard)
    with pytest.raises(ValueError, match="'guard'"):
        hooks.add(Guard)
    assert hooks.add(Guard, "second") == "second"
    assert hooks.fire("PreToolUse", "Bash", tool_input={"command": "rm"}).by == ("guard", "second")


def test_a_module_is_a_plugin_and_an_installed_one_has_its_installed_name(hooks: Hooks) -> None:
    import hookrouter_inbox

    assert hooks.add(hookrouter_inbox) == "inbox"


def test_installed_plugins_are_used_by_name(hooks: Hooks) -> None:
    hooks.use_installed("ask-user-question")
    result = hooks.fire("PreToolUse", tool="AskUserQuestion", session="work")
    assert result.delivery_started
    (wake,) = hooks.messages()
    assert (wake.kind, wake.gateway, wake.session) == ("question", "inbox", "work")

    with pytest.raises(ValueError, match="did you mean 'inbox'"):
        hooks.use_installed("inbx")


def test_settings_session_and_environment_reach_the_plugin(hooks: Hooks) -> None:
    seen = {}

    class Looks:
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            seen.update(context.settings("looks"), session=context.session, extra=context.environ["EXTRA"])
            seen["agent"] = context.agent.id
            context.note("looks", "noted")

    hooks.add(Looks)
    hooks.configure("""
        [[agents]]
        id = "night"
        sessions = ["work-*"]
        [plugins.looks.settings]
        color = "red"
    """)
    result = hooks.fire("Stop", session="work-7", environ={"EXTRA": "yes"})

    assert seen == {"color": "red", "session": "work-7", "extra": "yes", "agent": "night"}
    assert result.journal["looks"] == "noted"


def test_a_config_with_a_mistake_is_an_error(hooks: Hooks) -> None:
    with pytest.raises(ValueError, match=r"config\.toml.*on_eror"):
        hooks.configure("[plugins.x]\non_eror = 'closed'")


def test_a_hook_that_waits_is_called_when_its_setting_is_on(hooks: Hooks) -> None:
    class Waits:
        @hookimpl
        @waits(600, setting="patient")
        def stop(self, event: Any, context: Any) -> Any:
            return StopReply.block("waited")

    hooks.add(Waits)
    assert hooks.fire("Stop").decision is None
    hooks.configure("[plugins.waits.settings]\npatient = true")
    assert hooks.fire("Stop").decision == "block"


def test_wrappers_work_and_their_calls_are_noted(guarded: Hooks) -> None:
    class Softens:
        @hookimpl(wrapper=True)
        def pre_tool_use_bash(self, event: Any, tool_input: Any, context: Any) -> Iterator[None]:
            replies = yield
            return [PreToolUseReply.ask(reply.reason or "") for reply in replies]

    guarded.add(Softens)
    result = guarded.fire("PreToolUse", tool="Bash", tool_input={"command": "rm x"})

    assert (result.decision, result.by) == ("ask", ("softens",))
    assert {call.plugin for call in result.calls} == {"guard", "softens"}


def test_the_recorder_hears_every_event_and_every_tool(hooks: Hooks, hook_recorder: HookRecorder) -> None:
    for event in EVENTS.values():
        hook_recorder.clear()
        hooks.fire(event.name)
        assert event.hook in hook_recorder.hooks
        (call,) = hook_recorder.named(event.hook)
        assert call.arguments["event"].raw["hook_event_name"] == event.name
    with pytest.raises(ValueError, match="no hook 'stopp'"):
        hook_recorder.named("stopp")


def test_the_parameters_of_fire_hide_no_field() -> None:
    fields = {field.wire for event in EVENTS.values() for field in EVENT_CLASSES[event.name].FIELDS.values()}
    assert fields.isdisjoint({"tool", "session", "environ", "check"})


def wake(**changes: Any) -> Message:
    return Message("warning", "a", "loud", "s", "sid", "t", "subject", "text", **changes)


def test_the_fake_gateway_keeps_messages_and_fails_when_told(hooks: Hooks, fake_gateway: FakeGateway) -> None:
    hooks.configure('[gateways.loud]\ntype = "fake"')

    class Tells:
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            context.outbox.put(wake())
            context.start_delivery()

    hooks.add(Tells)
    fake_gateway.fail("the line is dead", times=1)
    assert hooks.fire("Stop").delivery_started
    hooks.deliver()
    assert (fake_gateway.wakes, len(fake_gateway.attempts), len(hooks.messages())) == ([], 1, 1)

    hooks.fire("Stop")
    fake_gateway.work()
    assert fake_gateway.deliver(wake(id="1"), {}).delivered
    assert fake_gateway.deliver(wake(id="1"), {}).delivered
    assert [known.id for known in fake_gateway.wakes] == ["1"]


def test_the_fake_terminal_shows_takes_keys_and_closes(hooks: Hooks, fake_terminal: FakePane) -> None:
    fake_terminal.lines = ["one", "two"]
    address = fake_terminal.address
    assert fake_terminal.capture(address).lines[:3] == ("one", "two", "")
    fake_terminal.press(address, "Enter")
    fake_terminal.paste(address, "text")
    assert fake_terminal.log == [("key", "Enter"), ("paste", "text")]

    class Looks:
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            context.note("pane", list(context.terminal))

    hooks.add(Looks)
    assert hooks.fire("Stop").journal["pane"] == list(address)
    fake_terminal.gone = True
    with pytest.raises(TerminalGone):
        fake_terminal.press(address, "Enter")
    assert hooks.fire("Stop", check=False).failures


@given(
    st.dictionaries(
        st.text(max_size=8), st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text()), max_size=4
    )
)
def test_any_payload_is_fired_or_refused(hook_recorder: HookRecorder, hooks: Hooks, payload: dict[str, Any]) -> None:
    hook_recorder.clear()
    with suppress(ValueError):
        hooks.fire({"hook_event_name": "Stop", **payload})
        assert hook_recorder.hooks


@pytest.mark.parametrize("name", exported)
def test_every_name_of_the_package_is_there(name: str) -> None:
    import hookrouter.testing

    assert getattr(hookrouter.testing, name) is not None


def test_an_authors_tests_fail_and_skip_with_clear_words(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKROUTER_CLAUDE", "")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("HOOKROUTER_REQUIRE_LIVE", raising=False)
    pytester.makepyfile(
        textwrap.dedent("""
        import os
        import pytest
        from hookrouter import hookimpl

        class Crashes:
            @hookimpl
            def stop(self, event, context):
                return 1 / 0

        def test_crash(hooks):
            hooks.add(Crashes)
            hooks.fire("Stop")

        def test_home(hookrouter_home):
            assert os.environ["HOOKROUTER_HOME"] == str(hookrouter_home)
            assert os.listdir(hookrouter_home) == []
            assert os.environ["HOME"] != os.path.expanduser("~root")

        def test_live(claude):
            pass
        """)
    )
    result = pytester.runpytest("-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*ZeroDivisionError*",
            "*crashes: failed in stop: ZeroDivisionError: division by zero*",
            "*tmux is not on PATH*",
        ]
    )
    monkeypatch.setenv("HOOKROUTER_REQUIRE_LIVE", "1")
    pytester.runpytest("-k", "live").assert_outcomes(errors=1, deselected=2)


def test_an_unfit_input_names_the_way_to_fire_it_nevertheless(hooks: Hooks) -> None:
    seen: list[object] = []
    hooks.add(SimpleNamespace(pre_tool_use_web_fetch=hookimpl(lambda tool_input: seen.append(tool_input.url))), "web")
    with pytest.raises(
        ValueError, match=r"tool_input: url: found number, allowed string; .* fire a whole payload: "
    ) as it:
        hooks.fire("PreToolUse", "WebFetch", tool_input={"url": 5})
    assert "fire({**sample('PreToolUse', 'WebFetch'), ...}), with hookrouter.testing.sample" in str(it.value)
    assert all(entry.frame.f_locals.get("__tracebackhide__") for entry in it.traceback[1:])
    assert hooks.fire({**sample("PreToolUse", "WebFetch"), "tool_input": {"url": 5}}).decision is None
    assert seen == [None]


def test_files_of_one_name_are_not_taken_for_each_other(hooks: Hooks, tmp_path: Path) -> None:
    names = ["one", "two", "one"]
    for at, word in enumerate(names):
        folder = tmp_path / word
        folder.mkdir(exist_ok=True)
        (folder / "_words.py").write_text(f"WORD = {word!r}\n")
        (folder / "guard.py").write_text(
            "from hookrouter import hookimpl\nfrom hookrouter.replies import StopReply\nfrom . import _words\n\n\n"
            "@hookimpl\ndef stop():\n    return StopReply.go_on(_words.WORD)\n"
        )
        hooks.add(folder / "guard.py", f"guard-{at}")
    hooks.fire("Stop")
    said = {call.plugin: call.result for call in hooks.calls}
    assert said == {f"guard-{at}": StopReply.go_on(word) for at, word in enumerate(names)}
