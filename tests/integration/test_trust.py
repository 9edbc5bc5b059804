"""What several authors' plugins may expect of each other: order, rewritten inputs, time limits, the circuit breaker."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._isolation import circuit_breaker
from hookrouter._sandbox.waiting import wait_until
from hookrouter.storage.home import Home
from hookrouter.testing.plugins import write_plugin
from support.fronts import THROUGH_FRONTS
from support.hook_place import BASH, HookPlace
from support.safety import safety

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = THROUGH_FRONTS

CALL: dict[str, Any] = {**BASH, "tool_input": {"command": "ls", "timeout": 5}}
HEADER = "from hookrouter import PostToolUseReply, PreToolUseReply, hookimpl\n"
HOOK = "@hookimpl{marks}\ndef pre_tool_use_bash(tool_input, context):\n    "


class Place(HookPlace):
    payload = CALL

    def write(self, name: str, body: str, marks: str = "", hook: str = HOOK) -> None:
        write_plugin(self.plugins, name, HEADER + hook.replace("{marks}", marks) + body + "\n")

    def specific(self, payload: dict[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self.run(payload).get("hookSpecificOutput", {})
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_plugins_are_called_as_the_config_orders_them_then_by_name_and_as_pluggy_marks_them(place: Place) -> None:
    for name in ("a", "b", "c"):
        place.write(name, f"return PreToolUseReply.context('{name}')")
    place.write("m-last", "return PreToolUseReply.context('last')", "(trylast=True)")
    place.write("n-first", "return PreToolUseReply.context('first')", "(tryfirst=True)")
    place.write(
        "k-outer",
        "replies = yield\n    return [*replies, PreToolUseReply.context(f'{len(replies)} wrapped')]",
        "(wrapper=True, tryfirst=True)",
    )
    assert place.specific()["additionalContext"].split("\n\n") == ["first", "a", "b", "c", "last", "5 wrapped"]

    place.config('[plugins]\norder = ["m-last", "c", "not-installed", "b"]\n')

    assert place.specific()["additionalContext"].split("\n\n") == ["last", "c", "b", "first", "a", "5 wrapped"]


def rewrite(key: str, value: str) -> str:
    return f"return PreToolUseReply.update_input({{**tool_input.raw, '{key}': {value}}})"


def test_each_plugin_sees_the_input_as_rewritten_and_the_journal_names_who_changed_what(place: Place) -> None:
    place.write("a", rewrite("command", "tool_input.command + ' -a'"))
    place.write("b", "return PreToolUseReply.update_input({'command': tool_input.command + ' -b', 'new': 1})")
    place.write("c", "return PreToolUseReply.context(tool_input.command)")

    assert place.specific() == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"command": "ls -a -b", "new": 1},
        "additionalContext": "ls -a -b",
    }
    record = place.record()
    assert record["tool_input_by"] == {"command": ["a", "b"], "new": ["b"], "timeout": ["b"]}
    entries = {call["plugin"]: call for call in record["plugins"]}
    assert entries["a"]["updatedInput"] == {"changed": ["command"]}
    assert entries["b"]["updatedInput"] == {"changed": ["command"], "added": ["new"], "removed": ["timeout"]}
    # Inputs may hold secrets.
    assert "ls -a" not in json.dumps(record)

    place.config("[journal]\npayloads = true\n")
    place.run()

    assert {call["plugin"]: call for call in place.record()["plugins"]}["a"]["values"] == {"command": ["ls", "ls -a"]}


def test_a_wrapper_that_builds_on_the_input_from_before_takes_nothing_back(place: Place) -> None:
    place.write("a", rewrite("command", "'safe'"))
    place.write(
        "w",
        "replies = yield\n    return [*replies, PreToolUseReply.update_input({**tool_input.raw, 'timeout': 9})]",
        "(wrapper=True)",
    )
    assert place.specific()["updatedInput"] == {"command": "safe", "timeout": 9}
    assert place.record()["tool_input_by"] == {"command": ["a"], "timeout": ["w"]}


def test_what_a_wrapper_took_away_is_not_applied(place: Place) -> None:
    place.write("a", rewrite("command", "'rm -rf /'"))
    place.write("b", rewrite("timeout", "7"))
    place.write(
        "w",
        "replies = yield\n    return [reply for reply in replies if 'rm' not in reply.updated_input['command']]",
        "(wrapper=True)",
    )
    place.write(
        "z",
        "return PreToolUseReply.context(event.tool_input['command'])",
        hook=HOOK.replace("pre_tool_use_bash(tool_input, context)", "pre_tool_use(event, context)"),
    )
    # b has rewritten what it saw, the command of a among it, so the wrapper took both away.
    assert place.specific() == {"hookEventName": "PreToolUse", "additionalContext": "ls"}


def test_outputs_are_rewritten_one_after_the_other_too(place: Place) -> None:
    hook = "@hookimpl\ndef post_tool_use(event, context):\n    "
    for name, secret in (("a", "one"), ("b", "two")):
        body = (
            "found = event.raw['tool_response']\n"
            f"    cleaned = found['stdout'].replace('{secret}', '*')\n"
            "    return PostToolUseReply.update_output({**found, 'stdout': cleaned})"
        )
        place.write(name, body, hook=hook)
    payload = {**CALL, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "one two three", "x": 1}}
    assert place.specific(payload)["updatedToolOutput"] == {"stdout": "* * three", "x": 1}
    assert place.record()["tool_response_by"] == {"stdout": ["a", "b"]}


STUCK = {
    "a-busy": "while True: pass",
    "b-sleeps": "import time\n    time.sleep(600)",
    "c-reads": "import os\n    os.read(os.pipe()[0], 1)",
    "d-waits-for-a-program": "import subprocess\n    subprocess.run(['sleep', '600'])",
    "e-locked": "import threading\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()",
    "f-swallows-exceptions": (
        "import time\n    for _ in range(9):\n        try: time.sleep(600)\n        except Exception: pass"
    ),
}


def test_whatever_a_plugin_waits_for_it_is_interrupted(place: Place) -> None:
    for name, body in STUCK.items():
        place.write(name, body)
    place.write("z-good", "return PreToolUseReply.context('good')")
    place.config("".join(f"[plugins.{name}]\ntimeout = 0.5\n" for name in STUCK))

    assert place.specific()["additionalContext"] == "good"

    assert place.calls() == [*((name, "timed out") for name in STUCK), ("z-good", "replied")]


def test_a_plugin_that_took_its_process_with_it_is_known_by_the_next_run_and_contained(place: Place) -> None:
    place.write("mean", "import ctypes\n    ctypes.string_at(0)")
    place.write("z-good", "return PreToolUseReply.context('good')")
    process = place.start()
    process.communicate(timeout=60)
    assert process.returncode < 0

    for expected in ("an earlier hook run ended in its pre_tool_use_bash", ""):
        assert place.specific()["additionalContext"] == "good"
        assert ("mean", "died") in place.calls()
        assert expected in json.dumps(place.record().get("warnings", []))
    assert list((place.home / "state" / "running").iterdir()) == []


def test_a_hook_process_that_is_killed_takes_the_one_of_its_plugins_with_it(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    place.config('[plugins.slow]\non_error = "closed"\ntimeout = 600\n')
    place.write(
        "slow", f"import os, time\n    open({str(file)!r}, 'w').write(str(os.getpid()) + '.')\n    time.sleep(600)"
    )
    process = place.start()
    wait_until(lambda: file.exists() and file.read_text().endswith("."), 60, "the plugin is called")
    child = int(file.read_text().rstrip("."))
    assert child != process.pid
    process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: not os.path.exists(f"/proc/{child}"), 30, "the child has ended")


def test_a_plugin_that_fails_again_and_again_is_switched_off_and_comes_back(place: Place, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    place.config("[plugins.shaky]\nbreaker = 3\n")
    place.write("shaky", f"import os\n    if not os.path.exists({str(mended)!r}): raise OSError('boom')")
    messages = [place.run()["systemMessage"] for _ in range(3)]
    assert ["switched off" in text for text in messages] == [False, False, True]
    assert "hookrouter plugins enable shaky" in messages[-1]

    assert place.run() == {}, "the user has been told"
    assert place.calls() == [("shaky", "switched off")]

    home = Home.in_folder(str(place.home))
    mended.touch()
    assert circuit_breaker.reset(home, "shaky")
    assert place.run() == {}
    assert place.calls() == [("shaky", "none")]


def test_a_plugin_that_is_due_is_tried_by_one_run_and_back_if_that_succeeds(place: Place) -> None:
    place.config("[plugins.shaky]\nbreaker = 1\n")
    place.write("shaky", "raise OSError('boom')")
    place.run()
    health = place.home / "state" / "plugins-health.json"
    document = json.loads(health.read_text())
    document["plugins"]["shaky"]["until"] -= circuit_breaker.COOL_DOWN + 1
    health.write_text(json.dumps(document))
    place.write("shaky", "return PreToolUseReply.context('back')")

    assert place.specific()["additionalContext"] == "back"
    assert place.specific()["additionalContext"] == "back"


VANDAL = """import io, os, signal, sys, warnings, atexit
    os.umask(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.alarm(1)
    sys.stdout.close()
    os.open(os.devnull, os.O_RDONLY)
    sys.stderr = io.StringIO()
    sys.path.clear()
    sys.path.append(os.path.dirname(__file__))
    del sys.modules['functools']
    warnings.simplefilter('error')
    sys.setrecursionlimit(60)
    os.environ['PATH'] = '/nowhere'
    os.close(1)"""
WITNESS = """import functools, os, signal, subprocess, sys, warnings
    mask = os.umask(0o77)
    print('still here', flush=True)
    print('and here', file=sys.stderr, flush=True)
    warnings.warn('only a warning')
    import decimal
    seen = [
        functools is sys.modules['functools'] and hasattr(functools, 'wraps'),
        mask != 0,
        signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
        not signal.pthread_sigmask(signal.SIG_BLOCK, []),
        signal.getitimer(signal.ITIMER_REAL)[0] > 1,
        sys.stderr is sys.__stderr__,
        len(sys.path) > 2,
        sys.getrecursionlimit() >= 1000,
        subprocess.run(['true']).returncode == 0,
    ]
    return PreToolUseReply.context(str(seen))"""


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_what_one_plugin_leaves_broken_the_next_one_finds_whole(place: Place, on_error: str) -> None:
    place.config(f'[plugins.a-vandal]\non_error = "{on_error}"\n')
    place.write("a-vandal", VANDAL)
    place.write("b-witness", WITNESS)

    assert place.specific()["additionalContext"] == str([True] * 9)

    (left,) = [call["left"] for call in place.record()["plugins"] if call["plugin"] == "a-vandal"]
    assert left == [
        "replaced the standard streams",
        "changed the umask",
        "changed signal handlers, masks or timers",
        "took away loaded modules",
        "changed the warning filters",
        "changed the recursion limit",
        "changed the environment (PATH)",
    ]
    printed = (place.home / "logs" / "plugin-output.log").read_text()
    assert "still here" in printed
    assert "and here" in printed


def test_a_plugins_own_import_path_is_there_again_for_its_next_hook(place: Place, tmp_path: Path) -> None:
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored" / "only_mine.py").write_text("word = 'mine'\n")
    event = HOOK.replace("pre_tool_use_bash(tool_input, context)", "pre_tool_use(context)")
    place.write(
        "a",
        f"import sys\n    sys.path.insert(0, {str(tmp_path / 'vendored')!r})\n"
        + event.replace("{marks}", "")
        + "import only_mine\n    return PreToolUseReply.context(only_mine.word)",
    )
    place.write("b", "import sys\n    return PreToolUseReply.context(str('vendored' in sys.path[0]))")
    assert place.specific()["additionalContext"].split("\n\n") == ["False", "mine"]


def test_a_process_that_a_plugin_forks_goes_no_further_than_that_call(place: Place, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    place.write("a", "import os\n    os.fork()\n    return PreToolUseReply.context('forked')")
    place.write("b", f"open({str(calls)!r}, 'a').write('b')\n    return PreToolUseReply.context('b')")
    assert place.specific()["additionalContext"].split("\n\n") == ["forked", "b"]
    assert calls.read_text() == "b"
    assert len((place.home / "logs" / "s.jsonl").read_text().splitlines()) == 1


def test_a_plugin_that_closes_what_is_not_its_own_is_contained_from_the_next_run_on(place: Place) -> None:
    place.write("a", "import os\n    os.closerange(0, 100)")
    place.write("b", "return PreToolUseReply.context('b')")
    place.run()
    assert "closed descriptors that are not its own" in place.record()["plugins"][0]["left"]
    for _ in range(2):
        assert place.specific()["additionalContext"] == "b"
        assert ("a", "died") in place.calls()


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSEGV"])
def test_a_signal_that_ends_a_guard_is_named_in_every_run(place: Place, number: str) -> None:
    place.write("a", f"import os, signal\n    os.kill(os.getpid(), signal.{number})")
    place.config('[plugins.a]\non_error = "closed"\n')
    for _ in range(12):
        assert place.specific()["permissionDecision"] == "deny"
        (call,) = place.record()["plugins"]
        assert call["error"].startswith(f"it was ended by signal {int(getattr(signal, number))} ")


def test_a_hook_that_is_killed_while_somebody_is_waited_for_blames_nobody(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "waits"
    place.write("looks", "return None")
    waiter = HOOK.replace("@hookimpl{marks}", "@hookimpl\n@waits(600)")
    body = f"import time\n    open({str(file)!r}, 'w').close()\n    time.sleep(600)"
    place.write("waits", body, hook="from hookrouter import waits\n" + waiter)
    process = place.start()
    wait_until(file.exists, 60, "the plugin waits")
    process.kill()
    process.communicate(timeout=60)

    place.write("waits", "return PreToolUseReply.context('here')")
    assert place.specific()["additionalContext"] == "here"
    assert "warnings" not in place.record()
    assert circuit_breaker.read(Home.in_folder(str(place.home))) == {}


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_function_registered_with_atexit_does_not_keep_the_hook_for_ever(place: Place, on_error: str) -> None:
    place.config(f'[plugins.late]\non_error = "{on_error}"\n')
    place.write(
        "late", "import atexit, time\n    atexit.register(time.sleep, 600)\n    return PreToolUseReply.context('x')"
    )
    assert place.specific()["additionalContext"] == "x"


@pytest.mark.parametrize("last", ["guard", "guard', 'z-behind"])
def test_a_guard_in_last_refuses_what_any_form_has_made_although_another_one_ends_its_process(
    place: Place, last: str
) -> None:
    raw = "@hookimpl{marks}\ndef raw_event(payload, context):\n    tool_input = payload['tool_input']\n    "
    place.write("a-dies", "import os\n    os.kill(os.getpid(), 9)")
    place.write("guard", "return PreToolUseReply.deny('no') if 'rm' in tool_input.command else None", "(tryfirst=True)")
    place.write("z-behind", "return PreToolUseReply.allow(updated_input={**tool_input, 'command': 'rm'})", hook=raw)
    place.config(f"[plugins]\nlast = ['{last}']\n[plugins.guard]\non_error = 'closed'\n")

    with safety("a guard in last refuses what the tool would get"):
        assert place.specific()["permissionDecision"] == "deny"
