"""A served reply that cannot be written: by the call's process, or by the front that is given it."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from hookrouter.testing.plugins import write_plugin
from support.hook_place import BASH, HookPlace
from support.resident import Resident

GUARD = """\
from hookrouter import PreToolUseReply, hookimpl

@hookimpl
def pre_tool_use_bash(tool_input, context):
    return PreToolUseReply.deny("not this")
"""


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system does not limit other processes")
@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_reply_that_the_calls_process_cannot_write_is_told_by_the_exit_code(tmp_path: Path, on_error: str) -> None:
    place = HookPlace(tmp_path)
    write_plugin(place.plugins, "guard", GUARD)
    place.config(f'[plugins.guard]\non_error = "{on_error}"\n')
    with Resident(place.environ) as router:
        assert router.call("pre-tool-use", BASH).reply
        if sys.platform == "linux":
            resource.prlimit(router.pid, resource.RLIMIT_FSIZE, (0, 0))
        # Those that wait for a call were forked before.
        ends = [router.call("pre-tool-use", BASH) for _ in range(8)]
    # The verdict is a refusal, whoever gave it.
    assert {end.exit_code for end in ends if not end.stdout} == {2}
    assert not any(end.exit_code for end in ends if end.stdout)
