"""The columns of history: what an open dialog tells of them comes through the journal and the verdict alike."""

from __future__ import annotations

import json
from typing import Any, get_origin, get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from hookrouter.dialogs.closing import End, verdict_of
from hookrouter.dialogs.columns import COLUMNS, Story, begun, fill, of_dialog, whole
from hookrouter.dialogs.documents import FORM, Dialog
from hookrouter.dialogs.stories.one_story import one_story
from hookrouter.dialogs.verdicts import verdict_in

KEY = ("s-1", "toolu_1")
TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=12)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
HEADERS = st.dictionaries(st.sampled_from(["header", "question"]), ANY_JSON)
RECORDS = st.fixed_dictionaries(
    {}, optional={key: ANY_JSON | st.lists(HEADERS) for column in COLUMNS for key in {column.key, column.name} - {""}}
)


@st.composite
def dialogs(draw: st.DrawFn) -> Dialog:
    """Return any dialog whose texts are shown as they are."""
    rule = draw(TEXTS)
    return Dialog(
        session="work",
        session_id=KEY[0],
        tool_use_id=KEY[1],
        questions=[{"question": draw(TEXTS), "header": draw(TEXTS), "multiSelect": False, "options": []}],
        terminal=None,
        agent=draw(TEXTS),
        gateway="inbox",
        saved_at="2026-11-28T10:00:00.000Z",
        missed=draw(st.booleans()),
        kind=draw(st.just(FORM) | TEXTS.filter(bool)),
        request=draw(st.just({}) | st.fixed_dictionaries({"rule": st.just(rule), "decider": st.just("person")})),
    )


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_the_type_of_a_story_has_these_columns_in_this_order() -> None:
    assert list(get_type_hints(Story)) == [column.name for column in COLUMNS]


@given(dialogs())
def test_the_journal_the_verdict_and_the_open_dialog_tell_the_same_of_a_dialog(dialog: Dialog) -> None:
    record = {"event": "dialog", "outcome": "asked", "session": "work", "session_id": KEY[0], "tool_use_id": KEY[1]}
    verdict = verdict_in(through_json(verdict_of(dialog, End("unanswered"))._asdict()))
    told = [
        one_story(KEY, [through_json(record | of_dialog(dialog))], None, None),
        one_story(KEY, [], dialog, None),
        one_story(KEY, [], None, verdict),
    ]
    names = [column.name for column in COLUMNS if column.of_dialog is not None]
    first, *others = [{name: story[name] for name in names} for story in told if story is not None]  # type: ignore[literal-required]
    assert others == [first, first]
    assert first["kind"] == dialog.kind
    assert (first["agent"], first["missed"]) == (dialog.agent, dialog.missed)
    assert first["rule"] == dialog.request.get("rule", "")


@given(RECORDS, RECORDS)
def test_whatever_a_record_holds_a_story_keeps_its_types_and_what_it_tells(one: Any, other: Any) -> None:
    story = begun("work", *KEY)
    fill(story, one)
    told = through_json(story)
    fill(story, other)
    for column in COLUMNS:
        before, after = told[column.name], story[column.name]  # type: ignore[literal-required]
        assert before in (column.default, after)
        kind = get_type_hints(Story)[column.name]
        assert isinstance(after, get_origin(kind) if get_origin(kind) is list else kind)
    assert all(isinstance(text, str) for entry in story["questions"] for text in entry.values())


def test_a_story_of_an_older_version_has_every_column() -> None:
    story: dict[str, object] = {"session": "work", "outcome": "verified", "machine": "far"}
    told = whole(story)
    assert list(told) == [*(column.name for column in COLUMNS), "machine"]
    assert (told["session"], told["outcome"], told["rule"]) == ("work", "verified", "")
