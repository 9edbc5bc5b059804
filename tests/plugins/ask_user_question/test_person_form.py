"""The form on a person's screen, as values: whatever is pressed, what is sent fits; and everything can be entered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter.answering.input_limits import text_faults
from hookrouter.cli.dialogs.person import form as model
from hookrouter.cli.dialogs.person.form import KEYS, State
from hookrouter.cli.dialogs.person.line import Line
from hookrouter.cli.dialogs.person.menu import Menu
from hookrouter.cli.dialogs.person.view import body, foot, head, wrapped
from hookrouter.dialogs.decisions import DecisionError, check_decisions, parse_decisions, to_json
from hookrouter.tools import AskUserQuestionInput
from hookrouter.util.text import printable
from hookrouter.util.text_width import text_width
from support.random_forms import DECEITFUL, seeded_form

SINGLE = {"question": "Which?", "header": "W", "options": [{"label": "A"}, {"label": "B"}, {"label": "C"}]}
MULTI = {**SINGLE, "question": "Which ones?", "multiSelect": True}
LAYOUT = {
    "question": "Which layout?",
    "header": "L",
    "options": [{"label": "Side", "preview": "+-+\n| |"}, {"label": "Top", "preview": "==="}],
}


def form_of(*questions: Any) -> AskUserQuestionInput:
    return AskUserQuestionInput.from_json({"questions": list(questions)})


def entered(state: State, *events: str) -> State:
    """Press keys by their names; anything else is typed."""
    for event in events:
        state = model.press(state, event) if event in KEYS else model.type_text(state, event)
    return state


def test_a_number_chooses_and_enter_sends() -> None:
    state = entered(model.begin(form_of(SINGLE)), "2")
    assert state.is_review
    assert entered(state, "enter").end == model.SEND
    assert model.decisions(state) == [{"action": "select", "optionIndex": 2}]


def test_arrows_choose() -> None:
    state = entered(model.begin(form_of(SINGLE)), "down", "enter", "enter")
    assert (state.end, model.decisions(state)) == (model.SEND, [{"action": "select", "optionIndex": 1}])


def test_a_number_that_no_option_has() -> None:
    state = entered(model.begin(form_of(SINGLE)), "7")
    assert (state.page, state.notice) == (0, "there is no option 7")


def test_several_are_chosen_and_words_added() -> None:
    state = entered(model.begin(form_of(MULTI)), "0", "2", "1", "1", "end", "up", "and retries", "enter")
    expected = [{"action": "multi-select", "selectedIndices": [0, 2], "text": "and retries"}]
    assert (state.is_review, model.decisions(state)) == (True, expected)


def test_nothing_chosen_is_no_answer() -> None:
    state = entered(model.begin(form_of(MULTI)), "enter")
    assert (state.page, model.decisions(state)) == (0, None)
    assert "nothing is chosen yet" in state.notice


def test_typing_on_an_option_begins_the_persons_own_words() -> None:
    state = entered(model.begin(form_of(SINGLE)), "1", "left", "neither", "enter")
    assert model.decisions(state) == [{"action": "type", "text": "neither"}]
    again = entered(state, "left", "escape", "0")
    assert model.decisions(again) == [{"action": "select", "optionIndex": 0}]
    assert again.pages[0].line.text == "neither"
    back = entered(again, "left", "end", "up", "enter")
    assert model.decisions(back) == [{"action": "type", "text": "neither"}]


def test_a_note_goes_with_the_choice() -> None:
    state = entered(model.begin(form_of(LAYOUT)), "1", "left", "but narrow\nplease", "enter")
    assert model.decisions(state) == [{"action": "select", "optionIndex": 1, "notes": "but narrow please"}]
    alone = entered(model.begin(form_of(LAYOUT)), "a note", "enter")
    assert (alone.page, alone.notice) == (0, "choose an option first")


def test_chat_instead_of_answers() -> None:
    state = entered(model.begin(form_of(SINGLE, MULTI)), "1", "end", "let us talk", "enter")
    assert model.decisions(state) == [{"action": "chat", "text": "let us talk"}]
    assert entered(state, "enter").end == model.SEND
    again = entered(state, "escape", "tab", "0", "enter")
    assert model.decisions(again) == [
        {"action": "select", "optionIndex": 1},
        {"action": "multi-select", "selectedIndices": [0]},
    ]
    refused = entered(model.begin(form_of(SINGLE)), "end", "/clear", "enter")
    assert refused.notice.startswith("the text becomes a prompt")


def test_back_and_review_keep_everything() -> None:
    state = entered(model.begin(form_of(SINGLE, MULTI, LAYOUT)), "own words", "enter", "1", "more", "enter", "0")
    done = model.decisions(state)
    assert done is not None
    assert len(done) == 3
    state = entered(state, "left", "back-tab", "back-tab", "back-tab", "tab", "tab", "tab")
    assert (state.is_review, model.decisions(state)) == (True, done)
    assert entered(state, "2").page == 1
    assert entered(state, "home", "enter").page == 0


def test_an_incomplete_form_is_not_sent() -> None:
    state = entered(model.begin(form_of(SINGLE, SINGLE)), "tab", "1", "enter")
    assert (state.end, state.page, state.notice) == ("", 0, "this question has no answer yet")


@pytest.mark.parametrize("where", [[], ["tab"], ["end"]])
def test_leaving_is_always_possible(where: list[str]) -> None:
    state = entered(model.begin(form_of(SINGLE)), *where, "leave")
    assert state.end == model.LEAVE
    assert entered(state, "0", "enter", "x") == state._replace(notice="")


def test_what_a_paste_holds_is_text_only() -> None:
    line = Line().typed("a\x1b[31m\x07b\r\nc\td\x00\x9b\ud800")
    assert line.text == "a[31mb\nc\td"
    assert Line().typed("a\nb\tc", is_single=True).text == "a b c"


def test_editing() -> None:
    line = Line().typed("cafe\u0301!")
    assert line.pressed("backspace").pressed("backspace").text == "caf"
    assert line.pressed("home").pressed("delete").typed("k").text == "kafe\u0301!"
    assert line.pressed("left").pressed("left").typed("X").text == "cafXe\u0301!"
    assert line.pressed("home").pressed("right").caret == 1
    assert line.pressed("clear") == Line()


EVENTS = st.lists(
    st.one_of(
        st.sampled_from(KEYS),
        st.sampled_from("0123456789 "),
        st.sampled_from(DECEITFUL),
        st.text(max_size=8),
    ),
    max_size=40,
)
FORMS = st.integers(0, 300).map(lambda number: seeded_form(7, number))


@given(FORMS, EVENTS)
@example(seeded_form(7, 0), ["end", "hello", "enter", "enter"])
def test_whatever_is_pressed_what_would_be_sent_fits_the_form(drawn: Any, events: list[str]) -> None:
    form = form_of(*drawn.questions)
    state = model.begin(form)
    for event in events:
        state = entered(state, event)
        assert state.row in model.rows(state)
        found = model.decisions(state)
        if found is not None:
            assert to_json(parse_decisions(json.dumps(found), form)) == found
        else:
            assert state.end != model.SEND


@given(FORMS, EVENTS)
def test_going_back_and_forth_changes_nothing(drawn: Any, events: list[str]) -> None:
    state = entered(model.begin(form_of(*drawn.questions)), *(one for one in events if one != "leave"))
    if state.end or state.is_chat:
        return
    count = len(state.pages)
    moved = entered(state, *["back-tab"] * count, *["tab"] * count)
    assert [page._replace(row=0) for page in moved.pages] == [page._replace(row=0) for page in state.pages]


@given(st.integers(0, 300))
def test_every_answer_that_fits_can_be_entered(number: int) -> None:
    drawn = seeded_form(11, number)
    form = form_of(*drawn.questions)
    try:
        wanted = to_json(check_decisions(drawn.decisions, form))
    except DecisionError:
        return
    state = model.begin(form)
    for decision in wanted:
        for index in decision.get("selectedIndices", []):
            state = entered(state, str(index))
        text = decision.get("text") or decision.get("notes")
        if decision["action"] == "select":
            state = entered(state, *["down"] * decision["optionIndex"])
            if text:
                state = model.type_text(entered(state, " ", "end", "up"), text)
        elif text is not None:
            state = model.type_text(entered(state, "end", "up"), text)
        state = entered(state, "enter")
    # A person's blanks at the ends are none of their answer.
    expected = [{key: text.strip() if isinstance(text, str) else text for key, text in one.items()} for one in wanted]
    if not any(text_faults(one["text"]) for one in expected if "text" in one):
        assert model.decisions(entered(state, "enter")) == expected
        assert entered(state, "enter").end == model.SEND


@given(FORMS, EVENTS, st.sampled_from([(60, 20), (80, 24), (200, 50), (20, 8)]))
def test_every_page_fits_the_width_and_holds_nothing_that_steers_a_terminal(
    drawn: Any, events: list[str], size: tuple[int, int]
) -> None:
    state = entered(model.begin(form_of(*drawn.questions)), *events)
    page = body(state, size[0])
    below = foot(state, size[0], "lines 1 to 2 of 3; PageUp and PageDown show the others")
    lines = [head(state, "wo\x1brk", size[0]), *(text for _, text in page.lines), *below]
    assert all(text_width(line) <= size[0] for line in lines)
    assert all(printable(line) == line for line in lines)
    assert 0 <= page.first <= page.last < len(page.lines)
    assert page.caret[0] < len(page.lines)
    assert page.caret[1] < size[0]


ENTRIES = st.lists(st.tuples(st.text(max_size=30), st.text(max_size=80)), min_size=1, max_size=12)


@given(ENTRIES.map(tuple), st.lists(st.one_of(st.sampled_from(KEYS), st.text(max_size=2)), max_size=20))
def test_a_menu_stays_on_its_entries(entries: Any, events: list[str]) -> None:
    menu = Menu(entries)
    for event in events:
        menu = menu.pressed(event) if event in KEYS else menu.typed(event)
        assert 0 <= menu.row < len(entries)
        assert menu.end in ("", "take", "leave")
    lines = [text for _, text in menu.body(60).lines] + menu.foot(60)
    assert all(text_width(line) <= 60 and printable(line) == line for line in lines)


def test_a_number_of_a_menu() -> None:
    menu = Menu((("a",), ("b",)))
    assert (menu.typed("2").row, menu.typed("2").end) == (1, "take")
    assert (menu.typed("3").end, menu.typed("3").notice) == ("", "there are 1 to 2")


@given(st.text(max_size=200), st.integers(8, 40))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    shown = printable(text, keep_newlines=True)
    assert "".join("".join(wrapped(text, width)).split()) == "".join(shown.split())
