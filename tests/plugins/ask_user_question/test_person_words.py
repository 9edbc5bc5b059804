"""What a person types in place of JSON: numbers, labels, own words."""

from __future__ import annotations

import contextlib
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.dialogs.answers.identity import Author, author_option, login_name
from hookrouter.dialogs.decisions import DecisionError, check_decisions
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.messages.to_person import person_message
from hookrouter.dialogs.messages.words import is_json, line_to_type, read_group, read_words
from hookrouter.tools import AskUserQuestionInput
from support.random_forms import DECEITFUL, seeded_form

NAMING = {
    "question": "Naming?",
    "header": "N",
    "options": [{"label": "snake_case"}, {"label": "Snap"}, {"label": "camelCase (Recommended)"}],
}
AREAS = {
    "question": "Areas?",
    "header": "A",
    "multiSelect": True,
    "options": [{"label": "Driver path"}, {"label": "Retry, backoff"}, {"label": "Logging"}],
}
LAYOUT = {"question": "Layout?", "header": "L", "options": [{"label": "Side", "preview": "|"}, {"label": "Top bar"}]}
COUNTS = {"question": "Workers?", "header": "W", "options": [{"label": "1"}, {"label": "2"}, {"label": "4"}]}


ASKED: dict[str, Any] = {
    "session": "work", "session_id": "s", "tool_use_id": "toolu_1", "questions": [NAMING], "terminal": None,
    "agent": "", "gateway": "",
}  # fmt: skip


def form_of(*questions: Any) -> AskUserQuestionInput:
    return AskUserQuestionInput.from_json({"questions": list(questions)})


def select(index: int, **more: str) -> dict[str, Any]:
    return {"action": "select", "optionIndex": index, **more}


def several(*indices: int, **more: str) -> dict[str, Any]:
    return {"action": "multi-select", "selectedIndices": list(indices), **more}


@pytest.mark.parametrize(
    ("question", "words", "decision"),
    [
        (NAMING, ["2"], select(2)),
        (NAMING, [" 0 "], select(0)),
        (NAMING, ["snake_case"], select(0)),
        (NAMING, ["SNAK"], select(0)),
        (NAMING, ["camel"], select(2)),
        (AREAS, ["0,2", "and retries"], several(0, 2, text="and retries")),
        (AREAS, ["0", "2"], several(0, 2)),
        (AREAS, ["2,0,2"], several(0, 2)),
        (AREAS, ["0,2,"], several(0, 2)),
        (AREAS, ["Retry, backoff"], several(1)),
        (AREAS, ["driver,log"], several(0, 2)),
        (AREAS, ["driver,1"], several(0, 1)),
        (AREAS, ["log", "and", "more"], several(2, text="and more")),
        (LAYOUT, ["1", "but", "narrow"], select(1, notes="but narrow")),
        (LAYOUT, ["side", "but narrow"], select(0, notes="but narrow")),
        (LAYOUT, ["Top", "bar"], select(1)),
        (COUNTS, ["4"], select(2)),
        (COUNTS, ["0"], select(0)),
    ],
)
def test_an_option_is_chosen(question: Any, words: list[str], decision: dict[str, Any]) -> None:
    assert read_group(words, form_of(question).questions[0]) == (decision, None)


@pytest.mark.parametrize(
    ("question", "words", "text"),
    [(NAMING, ["neither of them"], "neither of them"), (NAMING, ["whatever", "fits"], "whatever fits")],
)
def test_other_words_are_the_persons_own(question: Any, words: list[str], text: str) -> None:
    assert read_group(words, form_of(question).questions[0]) == ({"action": "type", "text": text}, text)
    assert read_group([text], form_of(AREAS).questions[0]) == (several(text=text), text)


@pytest.mark.parametrize(
    ("question", "words", "said"),
    [
        (NAMING, ["3"], "there is no option 3; there are 0 (snake_case), 1 (Snap), 2 (camelCase (Recommended))"),
        (NAMING, ["sna"], '"sna" may be 0 (snake_case), 1 (Snap); give the number'),
        (NAMING, ["0,1"], "only one option can be chosen"),
        (NAMING, ["2", "please"], 'an option takes no words of your own here, and "please" comes after 2'),
        (LAYOUT, ["neither"], '"neither" is not an option, and this question takes no words of your own'),
        (COUNTS, ["1"], '1 is the number of "2" and the label of option 0'),
        (COUNTS, ["9"], "there is no option 9"),
        (NAMING, ["\x1b[31mx", "1"], None),
    ],
)
def test_what_is_refused(question: Any, words: list[str], said: str | None) -> None:
    if said is None:
        assert read_group(words, form_of(question).questions[0]).own is not None
        return
    with pytest.raises(DecisionError) as refused:
        read_group(words, form_of(question).questions[0])
    assert said in str(refused.value)


def test_numbers_that_are_shown_are_never_labels() -> None:
    assert read_group(["1"], form_of(COUNTS).questions[0], is_shown=True).decision == select(1)


def test_a_form_of_several_questions() -> None:
    form = form_of(NAMING, AREAS, LAYOUT)
    expected = [select(2), several(0, 2, text="and retries"), select(1)]
    assert read_words(["2", "/", "0,2", "and retries", "/", "1"], form) == (expected, ())
    assert read_words(["2", "0,2", "1"], form).decisions == [select(2), several(0, 2), select(1)]
    with pytest.raises(DecisionError, match="this form has 3 questions: give an answer for each, with / between"):
        read_words(["2", "/", "1"], form)
    with pytest.raises(DecisionError) as refused:
        read_words(["7", "9", "sid"], form)
    assert [fault.split(":")[0] for fault in refused.value.faults] == ["question 1 (N)", "question 2 (A)"]


def test_words_are_forced_to_be_text() -> None:
    assert read_words(["2"], form_of(NAMING), as_text=True) == ([{"action": "type", "text": "2"}], ())
    assert read_words(["0,2", "x"], form_of(AREAS), as_text=True).decisions == [several(text="0,2 x")]
    both = read_words(["2", "none"], form_of(NAMING, AREAS), as_text=True)
    assert both == ([select(2), several(text="none")], ())
    assert read_words(["2", "none"], form_of(NAMING, AREAS)).own == ("none",)


@pytest.mark.parametrize("word", ["[", "{}", "-", "", "  [1", '[{"action"'])
def test_json_is_told_from_words(word: str) -> None:
    assert is_json(word)
    assert not is_json(f"x{word}")


@pytest.mark.parametrize(
    ("session", "is_alone", "words"),
    [
        ("work", True, ["work"]),
        ("my work", True, ["my work"]),
        ("[x]", True, ["--session=[x]"]),
        ("-x", True, ["--session=-x"]),
        ("work", False, ["--tool-use-id", "toolu_1"]),
    ],
)
def test_the_line_to_type(session: str, is_alone: bool, words: list[str]) -> None:
    question = Dialog(
        session=session, session_id="s", tool_use_id="toolu_1", questions=[NAMING, AREAS], terminal=None, agent="",
        gateway="",
    )  # fmt: skip
    line = line_to_type(question, is_alone=is_alone)
    assert shlex.split(line) == ["hookrouter", "answer", *words, "NUMBER", "/", "NUMBER,NUMBER"]


def commands_shown(question: Any, session: str = "work", *others: Dialog) -> list[list[str]]:
    """Return the commands that a message to a person shows, each as the words that a shell makes of it."""
    asked = Dialog(**{**ASKED, "session": session, "questions": [question]})
    shown = person_message(asked, ["/opt/hook router"], {"HOOKROUTER_HOME": "/tmp/h"}, others)
    return [shlex.split(line) for line in shown.splitlines() if line.startswith("    ")]


@given(st.integers(0, 300), st.sampled_from(["work", "my work", "[x]", "-x", "it's"]), st.booleans())
def test_what_a_message_shows_is_what_the_parser_takes(number: int, session: str, is_alone: bool) -> None:
    for question in seeded_form(3, number).questions:
        [form] = form_of(question).questions
        others = () if is_alone else (Dialog(**{**ASKED, "tool_use_id": "toolu_2"}),)
        *examples, asking = commands_shown(question, session, *others)
        named = ["--tool-use-id", "toolu_1"] if others else [f"--session={session}" if session[0] in "[-" else session]
        start = ["env", "HOOKROUTER_HOME=/tmp/h", "/opt/hook router", "answer", *named]
        assert asking == start
        for words in examples:
            assert words[: len(start)] == start
            [word] = words[len(start) :]
            decision, own = read_group([word], form)
            if own is not None:
                assert own == word == decision["text"]
            else:
                chosen = decision.get("selectedIndices", [decision.get("optionIndex")])
                assert word == ",".join(map(str, chosen))


def test_a_number_that_is_another_options_label_is_not_shown() -> None:
    assert [words[-1] for words in commands_shown(COUNTS)] == ["0", "in your own words", "work"]
    swapped = {"question": "Workers?", "header": "W", "options": [{"label": "1"}, {"label": "0"}]}
    assert [words[-1] for words in commands_shown(swapped)] == ["in your own words", "work"]
    assert [words[-1] for words in commands_shown(LAYOUT)] == ["1", "work"]
    own = {"question": "How?", "header": "H", "options": [{"label": "In your own words, please"}, {"label": "Not"}]}
    assert [words[-1] for words in commands_shown(own)] == ["1", "work"]


@given(st.integers(0, 300))
def test_the_numbers_of_any_form_choose_these_options(number: int) -> None:
    drawn = seeded_form(3, number)
    form = form_of(*drawn.questions)
    wanted = [one for one in drawn.decisions if "text" not in one and "notes" not in one]
    if len(wanted) < len(drawn.decisions):
        return
    for question, decision in zip(form.questions, wanted, strict=True):
        indices = decision.get("selectedIndices", [decision.get("optionIndex")])
        word = ",".join(map(str, indices))
        assert read_group([word], question, is_shown=True).decision == decision


@given(st.integers(0, 300), st.lists(st.one_of(st.sampled_from(DECEITFUL), st.text(), st.from_regex(r"[0-9,]{1,4}"))))
def test_any_words_are_decisions_or_refused(number: int, words: list[str]) -> None:
    form = form_of(*seeded_form(3, number).questions)
    with contextlib.suppress(DecisionError):
        reading = read_words(words, form)
        assert len(check_decisions(reading.decisions, form)) == len(form.questions)


@pytest.mark.parametrize(
    ("text", "author"),
    [("agent", Author()), ("person:Alice B", Author("person", "Alice B")), ("person", Author("person", login_name()))],
)
def test_who_is_named(text: str, author: Author) -> None:
    assert author_option(text) == author


@pytest.mark.parametrize("text", ["", "Person", "agent:x", "person:", "person: ", "nobody"])
def test_who_cannot_be_named(text: str) -> None:
    with pytest.raises(ValueError, match="--as: agent, person or person:NAME"):
        author_option(text)
