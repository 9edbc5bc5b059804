"""An answer that cannot be made or written: with a guard that fails closed, no call is let by.

Claude Code lets a call by if the hook ends with 0 and says nothing, or what it cannot read. It refuses one if the hook
says so, or ends with 2; any other exit code is a failure, which an entry with ``"onFailure": "block"`` refuses as well.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import COLD_ONLY, THROUGH_FRONTS, Front
from support.hook_place import BASH, HookPlace

pytestmark = THROUGH_FRONTS

GUARD = """\
from hookrouter import PreToolUseReply, StopReply, hookimpl

@hookimpl
def pre_tool_use_bash(tool_input, context):
    return PreToolUseReply.deny("not this") if "forbidden" in tool_input.command else None

@hookimpl
def stop(event, context):
    return StopReply.block("not yet")
"""

CLOSED = '[plugins.guard]\non_error = "closed"\n'

FORBIDDEN = {**BASH, "tool_input": {"command": "forbidden"}}

MEGABYTE = 1 << 20


class Place(HookPlace):
    def start_with(self, payload: bytes, event: str = "pre-tool-use", **how: Any) -> tuple[int, bytes]:
        """Run a hook with other descriptors or limits; return its exit code and what it said."""
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **how}
        with subprocess.Popen([*script_argv(), "run", event], env=self.environ, **streams) as process:
            out, _ = process.communicate(payload if streams["stdin"] == subprocess.PIPE else None, timeout=120)
        return process.returncode, out or b""


@pytest.fixture
def place(tmp_path: Path, front: Front) -> Place:
    front.may_run_cold("what is lacking keeps the front from the router too")
    place = Place(tmp_path)
    write_plugin(place.plugins, "guard", GUARD)
    place.config(CLOSED)
    # The index of plugins is there, as it is for all calls but the first.
    assert "not this" in json.dumps(place.run(FORBIDDEN))
    return place


def is_refused(code: int, out: bytes) -> bool:
    """Whether Claude Code does not make the call: as the hook says so, or because it has failed."""
    try:
        said = json.loads(out)
        decided = said["hookSpecificOutput"]["permissionDecision"] == "deny"
    except (ValueError, KeyError):
        decided = False
    return decided or code != 0


def limited(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, value))


def payload(said: dict[str, Any] = FORBIDDEN) -> bytes:
    return json.dumps(said).encode()


@pytest.mark.parametrize("count", [4, 5, 6, 8, 10, 11, 12, 13])
def test_few_descriptors_let_no_call_by(place: Place, count: int) -> None:
    code, out = place.start_with(payload(), preexec_fn=limited(resource.RLIMIT_NOFILE, count))
    assert is_refused(code, out), (code, out)


@pytest.mark.parametrize("size", [8, 32, 64])
def test_little_memory_lets_no_call_by(place: Place, size: int) -> None:
    code, out = place.start_with(payload(), preexec_fn=limited(resource.RLIMIT_AS, size * MEGABYTE))
    assert is_refused(code, out), (code, out)


def test_an_unreadable_stdin_is_refused(place: Place, tmp_path: Path) -> None:
    with open(tmp_path / "written", "wb") as write_only:
        code, out = place.start_with(b"", stdin=write_only)
    assert "could not be asked and is set to fail closed" in out.decode()
    folder = os.open(tmp_path, os.O_RDONLY)
    code, out = place.start_with(b"", stdin=folder)
    os.close(folder)
    # Python itself does not start with a folder as its stdin.
    assert is_refused(code, out)
    assert is_refused(*place.start_with(b"", preexec_fn=lambda: os.close(0)))


def full(_place: Place, _folder: Path) -> dict[str, Any]:
    return {"stdout": os.open("/dev/full", os.O_WRONLY)}


def no_larger_file(_place: Place, folder: Path) -> dict[str, Any]:
    out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT)
    return {"stdout": out, "preexec_fn": limited(resource.RLIMIT_FSIZE, 0)}


def closed(_place: Place, _folder: Path) -> dict[str, Any]:
    return {"preexec_fn": lambda: os.close(1)}


def left(_place: Place, _folder: Path) -> dict[str, Any]:
    reading, writing = os.pipe()
    os.close(reading)
    return {"stdout": writing}


def unwritable(_place: Place, folder: Path) -> dict[str, Any]:
    (folder / "read").touch()
    return {"stdout": os.open(folder / "read", os.O_RDONLY)}


UNWRITTEN = [full, no_larger_file, closed, left, unwritable]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("how", UNWRITTEN, ids=lambda how: how.__name__)
def test_a_refusal_that_cannot_be_written_is_told_by_the_exit_code(
    place: Place, how: Callable[[Place, Path], dict[str, Any]], tmp_path: Path
) -> None:
    options = how(place, tmp_path)
    assert place.start_with(payload(), **options)[0] == 2
    assert place.start_with(payload({"session_id": "s"}), **how(place, tmp_path))[0] == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("how", UNWRITTEN, ids=lambda how: how.__name__)
def test_an_open_plugins_answer_that_cannot_be_written_is_a_failure(
    place: Place, how: Callable[[Place, Path], dict[str, Any]], tmp_path: Path
) -> None:
    place.config("")
    write_plugin(
        place.plugins,
        "guard",
        "from hookrouter import PreToolUseReply, hookimpl\n\n@hookimpl\ndef pre_tool_use(event, context):\n"
        "    return PreToolUseReply.context('x')\n",
    )
    assert place.start_with(payload(), **how(place, tmp_path))[0] == 1


def test_who_says_nothing_needs_no_output(place: Place) -> None:
    assert place.start_with(payload(BASH), stdout=os.open("/dev/full", os.O_WRONLY))[0] == 0
    assert place.start_with(payload(BASH), preexec_fn=lambda: os.close(1))[0] == 0


def test_a_large_reply_is_written_whole_to_a_pipe_that_does_not_block(place: Place) -> None:
    write_plugin(
        place.plugins,
        "guard",
        "from hookrouter import PreToolUseReply, hookimpl\n\n@hookimpl\ndef pre_tool_use_bash(tool_input, context):\n"
        "    return PreToolUseReply.update_input({'command': 'x' * 400_000})\n",
    )
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with subprocess.Popen(
        [*script_argv(), "run", "pre-tool-use"],
        env=place.environ,
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(writing)
        assert process.stdin is not None
        process.stdin.write(payload())
        process.stdin.close()
        with open(reading, "rb") as file:
            said = json.loads(file.read())
    assert len(said["hookSpecificOutput"]["updatedInput"]["command"]) == 400_000


GONE = """\
import os, sys

class Gone:
    def find_spec(self, name, *rest):
        if name == os.environ.get("GONE"):
            raise ModuleNotFoundError(f"{name} is being installed", name=name)

sys.meta_path.insert(0, Gone())
"""

LISTS = """\
import atexit, os, sys
if os.environ.get("LISTED"):
    atexit.register(lambda: open(os.environ["LISTED"], "a").write("\\n".join(sys.modules) + "\\n"))
"""


@COLD_ONLY
def test_a_module_that_is_gone_lets_no_call_by(place: Place, tmp_path: Path) -> None:
    (place.plugins / "sitecustomize.py").write_text(GONE + LISTS)
    listed = tmp_path / "listed"
    place.environ["LISTED"] = str(listed)
    place.start_with(payload())
    place.start_with(b"nonsense")
    del place.environ["LISTED"]
    ours = sorted({name for name in listed.read_text().split() if name.partition(".")[0] == "hookrouter"})
    assert len(ours) > 40
    passed = []
    for module in ours:
        place.environ["GONE"] = module
        passed += [(module, data) for data in (payload(), b"nonsense") if not is_refused(*place.start_with(data))]
    assert not passed


@COLD_ONLY
@pytest.mark.parametrize("module", ["hookrouter._routing.merge", "hookrouter.replies"])
def test_a_refusal_that_cannot_be_built_is_told_by_the_exit_code(place: Place, module: str) -> None:
    (place.plugins / "sitecustomize.py").write_text(GONE)
    place.environ["GONE"] = module
    assert place.start_with(b"nonsense") == (2, b"")
    assert place.start_with(payload(), stderr=subprocess.PIPE)[0] == 2


@COLD_ONLY
def test_a_guard_whose_file_is_empty_for_a_moment_refuses(place: Place) -> None:
    source = place.plugins / "guard.py"
    before = os.stat(source)
    source.write_text("")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert is_refused(*place.start_with(payload()))
    os.utime(source)
    assert is_refused(*place.start_with(payload()))


@COLD_ONLY
def test_a_guard_that_was_uninstalled_is_still_known_by_its_hooks(place: Place) -> None:
    for path in place.plugins.glob("guard*"):
        for one in [*path.glob("*"), path] if path.is_dir() else [path]:
            one.rmdir() if one.is_dir() else one.unlink()
    stop = {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "Stop"}
    code, out = place.start_with(payload(stop), "stop")
    assert (code, json.loads(out)["decision"]) == (0, "block")


if sys.platform != "linux":
    pytest.skip("limits as Linux has them", allow_module_level=True)
