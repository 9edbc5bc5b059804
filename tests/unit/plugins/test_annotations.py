"""Annotations that say something else than a hook's spec are told when the plugin is loaded."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pluggy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import hookimpl
from hookrouter._inspection.annotations import misfits
from hookrouter._inspection.validation import validate
from hookrouter.events import Event, PreToolUse, SessionEnd
from hookrouter.hookspecs import EventSpecs, PostToolUseSpecs, PreToolUseSpecs, all_spec_classes
from hookrouter.markers import PROJECT_NAME
from hookrouter.replies import PreToolUseReply, Reply, StopReply

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.events import Stop, SubagentStop
    from hookrouter.tools import BashInput, EditInput


def plugin(function: Any) -> ModuleType:
    made = ModuleType("some_plugin")
    setattr(made, function.__name__, hookimpl(function))
    return made


def wrong_event(event: SessionEnd, context: Context) -> None: ...


def wrong_event_known_to_checkers_only(event: SubagentStop) -> None: ...


def wrong_reply(event: Stop) -> PreToolUseReply | None: ...


def no_reply(event: Stop) -> str: ...


def maybe_no_reply(event: Stop) -> Optional[int]: ...  # noqa: UP045


def context_for_event(event: Context) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (wrong_event, "stop: the argument 'event' is annotated SessionEnd; it is a Stop"),
        (wrong_event_known_to_checkers_only, "stop: the argument 'event' is annotated SubagentStop; it is a Stop"),
        (wrong_reply, "stop: the result is annotated PreToolUseReply; it is StopReply or None"),
        (no_reply, "stop: the result is annotated str; it is StopReply or None"),
        (maybe_no_reply, "stop: the result is annotated int; it is StopReply or None"),
        (context_for_event, "stop: the argument 'event' is annotated Context; it is a Stop"),
    ],
)
def test_a_class_of_another_hook_is_told(function: Any, said: str) -> None:
    assert list(misfits("stop", function, EventSpecs.stop)) == [said]


def test_a_plugin_with_the_input_of_another_tool_is_refused() -> None:
    def pre_tool_use_bash(event: PreToolUse, tool_input: EditInput) -> None: ...

    with pytest.raises(pluggy.PluginValidationError, match="'tool_input' is annotated EditInput; it is a BashInput"):
        validate("some", plugin(pre_tool_use_bash))


def test_a_plugin_that_expects_a_mapping_learns_where_it_is() -> None:
    def post_tool_use_bash(tool_input: BashInput, tool_response: Mapping[str, Any]) -> None: ...

    with pytest.raises(
        pluggy.PluginValidationError, match=r"it is a BashOutput; its JSON object is tool_response\.raw"
    ):
        validate("some", plugin(post_tool_use_bash))


def right(event: PreToolUse, tool_input: BashInput, context: Context) -> PreToolUseReply | None: ...


def without_any(event, tool_input, context): ...


def wider(event: Event, tool_input: Any, context: object) -> Reply | None: ...


def several(event: PreToolUse | Stop, tool_input: BashInput | EditInput) -> PreToolUseReply | StopReply | None: ...


def by_module(event: events.PreToolUse, tool_input: Annotated[BashInput, "x"]) -> Optional[PreToolUseReply]: ...  # noqa: UP045


def quoted(event: "PreToolUse", tool_input: "BashInput") -> "None": ...  # noqa: UP037


def unheard_of(event: Payload, tool_input: Form) -> Answer: ...  # type: ignore[name-defined]  # noqa: F821


class EditOutput:
    """Not hookrouter's."""


def of_its_own(event: PreToolUse, tool_input: EditOutput) -> None: ...


def wrapper(event: PreToolUse) -> Generator[None, list[Reply], list[Reply]]:
    return (yield)


@pytest.mark.parametrize(
    "function", [right, without_any, wider, several, by_module, quoted, unheard_of, of_its_own, wrapper]
)
def test_whatever_may_be_right_is_let_through(function: Any) -> None:
    assert list(misfits("pre_tool_use_bash", function, PreToolUseSpecs.pre_tool_use_bash)) == []


def test_annotations_that_were_evaluated_are_read_too() -> None:
    def implementation(event, tool_input, tool_response): ...

    implementation.__annotations__ = {"event": SessionEnd, "tool_input": Any, "return": StopReply | None}
    assert list(misfits("post_tool_use_bash", implementation, PostToolUseSpecs.post_tool_use_bash)) == [
        "post_tool_use_bash: the argument 'event' is annotated SessionEnd; it is a PostToolUse",
        "post_tool_use_bash: the result is annotated StopReply; it is PostToolUseReply or None",
    ]


def test_every_spec_fits_itself() -> None:
    for specs in all_spec_classes():
        for name, function in vars(specs).items():
            if hasattr(function, f"{PROJECT_NAME}_spec"):
                assert list(misfits(name, function, function)) == []


@given(st.text() | st.from_regex(r"[A-Za-z.|\[\], ]{0,30}") | st.integers() | st.none())
def test_no_annotation_breaks_the_check(annotation: object) -> None:
    def implementation(event): ...

    implementation.__annotations__ = {"event": annotation, "return": annotation}
    list(misfits("stop", implementation, EventSpecs.stop))
