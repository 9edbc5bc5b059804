"""A plugin may name in its annotations what it imports for type checkers only."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from hookrouter import hookimpl
from hookrouter._inspection.validation import validate
from hookrouter.testing.hooks import Hooks
from hookrouter.util.signatures import annotations_of, signature_of

# Compiled apart, so that nothing of this module's holds for it.
_PLUGIN = """
from hookrouter import hookimpl
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrouter.events import PreToolUse
    from hookrouter.context import Context
    from hookrouter.replies import PreToolUseReply

@hookimpl
def pre_tool_use(event: PreToolUse, context: Context) -> PreToolUseReply | None:
    return None
"""


def _plugin(text: str) -> Any:
    module = ModuleType("late")
    exec(compile(text, "late.py", "exec", dont_inherit=True), vars(module))
    return module


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated with the function")
def test_what_is_imported_for_type_checkers_only_is_no_fault() -> None:
    plugin = _plugin(_PLUGIN)
    assert list(validate("late", plugin)) == ["pre_tool_use"]
    assert list(signature_of(plugin.pre_tool_use).parameters) == ["event", "context"]
    assert annotations_of(plugin.pre_tool_use)["event"] == "PreToolUse"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated with the function")
def test_what_is_plainly_wrong_is_told_all_the_same() -> None:
    with pytest.raises(Exception, match="'event' is annotated dict"):
        validate("late", _plugin(_PLUGIN.replace("event: PreToolUse", "event: dict")))


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated with the function")
def test_a_test_may_fire_at_such_a_plugin(hooks: Hooks) -> None:
    hooks.add(_plugin(_PLUGIN), "late")
    result = hooks.fire("PreToolUse", tool="Bash", tool_input={"command": "ls"})
    assert [call.hook for call in result.calls] == ["pre_tool_use"], result


def test_annotations_as_text_are_what_they_were() -> None:
    @hookimpl
    def stop(event: int) -> None:
        """Do nothing."""

    assert annotations_of(stop) == {"event": "int", "return": "None"}
    assert str(signature_of(stop)) == "(event: 'int') -> 'None'"
