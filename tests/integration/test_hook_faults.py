"""What must not take the answer away: errors that cannot be shown, replies that cannot be written, forks, upgrades."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrouter.testing.plugins import write_plugin
from support.fronts import THROUGH_FRONTS
from support.hook_place import HookPlace
from support.resident import eventually

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [THROUGH_FRONTS, pytest.mark.safety]

HEADER = "import os, sys, time\nfrom hookrouter import PreToolUseReply, hookimpl, waits\n"
DENIES = "@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n    return PreToolUseReply.deny('not this')\n"


class Place(HookPlace):
    def write(self, name: str, source: str) -> None:
        write_plugin(self.plugins, name, HEADER + source)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


UNSHOWABLE = {
    "str raises": "class Odd(Exception):\n    def __str__(self):\n        raise ValueError('no text')\n",
    "str exits": "class Odd(Exception):\n    def __str__(self):\n        sys.exit(3)\n",
    "str hangs": "class Odd(Exception):\n    def __str__(self):\n        while True:\n            time.sleep(9)\n",
    "str is odd": (
        "class Text(str):\n    def isprintable(self):\n        raise ValueError('no')\n"
        "class Odd(Exception):\n    def __str__(self):\n        return Text('\\x1b[31mx')\n"
    ),
    "class lies": (
        "class Odd(Exception):\n    @property\n    def __class__(self):\n        raise ValueError('no class')\n"
    ),
    "name raises": (
        "class Meta(type):\n    @property\n    def __name__(cls):\n        raise ValueError('no name')\n"
        "class Odd(Exception, metaclass=Meta):\n    pass\n"
    ),
}


@pytest.mark.parametrize("on_error", ["open", "closed"])
@pytest.mark.parametrize("odd", UNSHOWABLE.values(), ids=UNSHOWABLE)
def test_an_error_that_cannot_be_shown_is_its_plugins_alone(place: Place, odd: str, on_error: str) -> None:
    place.write("aa", f"{odd}@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n    raise Odd\n")
    place.write("zz", DENIES)
    place.config(f'[plugins.aa]\non_error = "{on_error}"\n')

    said = place.run()

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "zz: not this" in said["hookSpecificOutput"]["permissionDecisionReason"]
    calls = {call["plugin"]: call["outcome"] for call in place.record()["plugins"]}
    assert calls == {"aa": "failed", "zz": "replied"}
    assert "plugin aa failed" in json.dumps(said)


UNUSABLE = {
    "an object in its output": (
        "reply = PreToolUseReply.context('x')\n    reply.output['updatedInput'] = {'a': object()}"
    ),
    "not a number": "reply = PreToolUseReply.context('x')\n    reply.output['updatedInput'] = {'a': float('nan')}",
    "a circle": ("reply = PreToolUseReply.context('x')\n    reply.output['updatedInput'] = reply.output"),
    "a reason that is no text": (
        "reply = PreToolUseReply.deny('x')\n    object.__setattr__(reply, 'reason', object())"
    ),
    "a class that lies": ("class Proxy:\n        __class__ = PreToolUseReply\n    reply = Proxy()"),
    "a repr that raises": (
        "class Odd:\n        def __repr__(self):\n            raise ValueError('no repr')\n    reply = Odd()"
    ),
    "a reply whose fields raise": (
        "class Odd(PreToolUseReply):\n        @property\n        def verdict(self):\n"
        "            raise ValueError('no')\n    reply = object.__new__(Odd)"
    ),
}


@pytest.mark.parametrize("how", UNUSABLE.values(), ids=UNUSABLE)
def test_a_reply_that_cannot_be_written_is_its_plugins_alone(place: Place, how: str) -> None:
    place.write("aa", f"@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n    {how}\n    return reply\n")
    place.write("zz", DENIES)

    said = place.run()

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert {call["plugin"]: call["outcome"] for call in place.record()["plugins"]} == {"aa": "failed", "zz": "replied"}


def test_a_reply_is_what_it_was_when_it_was_given(place: Place) -> None:
    place.write(
        "aa",
        "kept = {'command': 'ls -a'}\n"
        "@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n    return PreToolUseReply.update_input(kept)\n"
        "@hookimpl\ndef pre_tool_use(event, context):\n    kept['command'] = object()\n",
    )
    assert place.run()["hookSpecificOutput"]["updatedInput"] == {"command": "ls -a"}


NO_IMPORTS = """\
class Gone:
    def find_spec(self, name, *rest):
        raise ModuleNotFoundError(f'{name} was asked for after the wait', name=name)
"""


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_an_upgrade_while_a_hook_waits_does_not_lose_the_answer(place: Place, on_error: str) -> None:
    place.write(
        "waiter",
        f"{NO_IMPORTS}@hookimpl\n@waits(600)\ndef pre_tool_use_bash(tool_input, context):\n"
        "    sys.meta_path.insert(0, Gone())\n"
        "    return PreToolUseReply.allow(updated_input={'command': 'ls -a'})\n",
    )
    place.write("looker", "@hookimpl\ndef pre_tool_use(event, context):\n    print(event.tool_name)\n")
    place.config(f'[plugins.waiter]\non_error = "{on_error}"\n')
    place.run()

    said = place.run()

    assert "hookSpecificOutput" in said, (said, place.record())
    assert said["hookSpecificOutput"]["updatedInput"] == {"command": "ls -a"}
    assert place.record()["outcome"] == "allow"
    assert "warnings" not in place.record()


@pytest.mark.parametrize("does", ["return PreToolUseReply.deny('not this')", "raise ValueError('broken')"])
def test_an_upgrade_while_a_guard_looks_leads_no_call_past_it(place: Place, does: str) -> None:
    place.write(
        "guard",
        f"{NO_IMPORTS}@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n"
        f"    sys.meta_path.insert(0, Gone())\n    {does}\n",
    )
    place.config('[plugins.guard]\non_error = "closed"\n')
    for _ in range(2):
        done = place.start()
        out, err = done.communicate(timeout=60)
        is_denied = bool(out) and json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert is_denied or (done.returncode == 2 and b"fail closed: guard" in err), (done.returncode, out, err)


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_process_that_a_plugin_forks_and_keeps_does_not_keep_the_reply(place: Place, on_error: str) -> None:
    pids = place.home.parent / "pid"
    place.write(
        "aa",
        "@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n        os.setsid()\n        time.sleep(60)\n        os._exit(0)\n"
        f"    open({str(pids)!r}, 'w').write(str(child))\n",
    )
    place.write("zz", DENIES)
    place.config(f'[plugins.zz]\non_error = "{on_error}"\n')
    process = place.start()
    try:
        # Stdout ends though the forked process lives.
        out, _ = process.communicate(timeout=30)
        os.kill(int(pids.read_text()), 0)
    finally:
        process.kill()
        os.kill(int(pids.read_text()), 9)
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_plugin_may_do_something_once_its_reply_is_written(place: Place, on_error: str) -> None:
    done = place.home.parent / "done"
    place.write(
        "aa",
        "@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n"
        "    def fails():\n        raise ValueError('not done')\n"
        "    context.after_reply(fails)\n"
        f"    context.after_reply(lambda: open({str(done)!r}, 'a').write('done'))\n"
        "    return PreToolUseReply.deny('no')\n",
    )
    place.config(f'[plugins.aa]\non_error = "{on_error}"\n')

    assert place.run()["hookSpecificOutput"]["permissionDecision"] == "deny"
    # A front does not wait for it.
    eventually(lambda: done.exists() and done.read_text() == "done" and "reason" in place.record())
    assert place.record()["reason"] == "aa: a function that was to follow the reply failed: ValueError: not done"


def test_what_was_to_follow_a_reply_does_not_if_the_process_ends(place: Place) -> None:
    done = place.home.parent / "done"
    place.write(
        "aa",
        "@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n"
        f"    context.after_reply(lambda: open({str(done)!r}, 'a').write('done'))\n"
        "    return PreToolUseReply.deny('no')\n",
    )
    place.write("zz", "@hookimpl\ndef pre_tool_use(event, context):\n    os.kill(os.getpid(), 9)\n")
    assert place.run() == {}
    assert not done.exists()


STARTS = {
    "one that it waits for": "subprocess.run([SLEEP, '300'])",
    "one that it does not wait for": "subprocess.Popen([SLEEP, '300'])\n    time.sleep(300)",
    "children of a shell": "subprocess.run(['sh', '-c', f'{SLEEP} 300 & {SLEEP} 300 & wait'])",
    "a call that cannot be interrupted": (
        "subprocess.Popen([SLEEP, '300'])\n    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
        "    subprocess.run(['sh', '-c', f'{SLEEP} 300; true'])"
    ),
}


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
def test_what_a_call_has_started_ends_with_it_when_its_time_is_over(place: Place, tmp_path: Path, starts: str) -> None:
    # A name that no other process has.
    sleep = tmp_path / "sleeps"
    sleep.symlink_to(shutil.which("sleep") or "sleep")
    head = f"import signal, subprocess\nSLEEP = {str(sleep)!r}\n"
    hook = "@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n    "
    earlier = "subprocess.Popen([SLEEP, '301'], stdout=-3, stderr=-3)"
    place.write("aa-earlier", f"{head}{hook}{earlier}\n    time.sleep(0.2)\n")
    apart = "subprocess.Popen([SLEEP, '302'], stdout=-3, stderr=-3, start_new_session=True)"
    place.write("late", f"{head}{hook}{apart}\n    {starts}\n")
    place.write("zz", DENIES)
    place.config('[plugins.late]\ntimeout = 1\non_error = "closed"\n')

    said = place.run()

    try:
        assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert ("late", "timed out") in place.calls()
        eventually(lambda: "300" not in _seconds(sleep).values())
        assert "302" in _seconds(sleep).values()
        if "pthread_sigmask" not in starts:
            assert "301" in _seconds(sleep).values()
    finally:
        for pid in _seconds(sleep):
            os.kill(pid, 9)


def _seconds(program: Path) -> dict[int, str]:
    """Return what the processes of a program were told to sleep."""
    # Else ps cuts the lines.
    listed = subprocess.run(["ps", "-wweo", "pid=,args="], capture_output=True, text=True, check=True)
    words = [line.split() for line in listed.stdout.splitlines()]
    return {int(found[0]): found[2] for found in words if len(found) > 2 and found[1] == str(program)}
