"""The planner on single screens: one look, one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.forms import why_untypable
from hookrouter.answering.input_limits import PLACEHOLDERS
from hookrouter.answering.interfaces import Done, Effect, GiveUp, Paste, Press, Taken, Wait
from hookrouter.records import replace
from hookrouter.terminals import Screen
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.planner.plan import CORRECTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import Step


def question(text: str, *labels: str, multi: bool = False, previews: bool = False) -> Question:
    options = tuple(Option(label=label, description="", preview="<p>" if previews else None) for label in labels)
    return Question(question=text, header=text[:12], options=options, multi_select=multi)


SINGLE = AskUserQuestionInput(questions=(question("Which?", "A", "B", "C"),))
MULTI = AskUserQuestionInput(questions=(question("Which ones?", "A", "B", multi=True),))
PREVIEW = AskUserQuestionInput(questions=(question("Layout?", "A", "B", previews=True),))
TABS = AskUserQuestionInput(questions=(*SINGLE.questions, *MULTI.questions, *PREVIEW.questions))


def screen(model: DialogModel, *above: str, width: int = 80, height: int = 40) -> Screen:
    return Screen((*above, *model.render(width, height)), width, height)


class Acted(NamedTuple):
    """A step that was carried out, and the screen on which it was decided."""

    step: Press | Paste
    screen: Screen


def decide(shown: Screen, form: AskUserQuestionInput, decisions: Sequence[Decision], acted: Sequence[Acted]) -> Step:
    """Return what the planner does on a screen, after these steps."""
    planner = GrammarPlanner()
    taken = [Taken(each.step, planner.read(each.screen, form)) for each in acted]
    return planner.next_step(planner.read(shown, form), form, decisions, taken)


def step(
    form: AskUserQuestionInput, decisions: tuple[Decision, ...], *keys: str, taken: tuple[Acted, ...] = ()
) -> Step:
    """Press ``keys`` and return what the planner then does; ``paste`` is its own doing, ``left`` is a person's."""
    model = DialogModel(form)
    for key in keys:
        act, _, text = key.partition(" ")
        if act == "paste":
            taken += (Acted(Paste(text, ""), screen(model)),)
        if text:
            model.paste(text)
        else:
            model.press(key)
    return decide(screen(model), form, decisions, taken)


def pressed(form: AskUserQuestionInput, decisions: tuple[Decision, ...], *keys: str) -> str:
    found = step(form, decisions, *keys)
    assert isinstance(found, Press), found
    return found.key


@pytest.mark.parametrize(
    ("decision", "keys", "key"),
    [
        (Select(0), [], "1"),
        (Select(2), [], "3"),
        (Select(0), ["Down"], "1"),
        (Select(1), ["Down", "Down", "Down", "Down"], "Up"),
        (Select(1), ["Down", "Down", "Down", "Down", "Up"], "Up"),
        (Select(1), ["Down", "Down", "Down", "Down", "Up", "Up"], "2"),
        (FreeText("text"), [], "Up"),
        (FreeText("text"), ["Down"], "Down"),
        (FreeText("text"), ["Up", "paste text"], "Enter"),
        (FreeText("text"), ["Up", "paste text", "Up"], "Down"),
        (FreeText("text"), ["Up", "paste other"], "C-e"),
        (FreeText("text"), ["Up", "Space"], "C-e"),
        (FreeText("text"), ["Up", "paste one", "Up"], "Down"),
        (FreeText("text"), ["Up", "paste one\n"], "C-e"),
    ],
)
def test_single_select(decision: Decision, keys: list[str], key: str) -> None:
    assert pressed(SINGLE, (decision,), *keys) == key


def test_text_is_pasted_on_the_empty_row_only() -> None:
    assert step(SINGLE, (FreeText("text"),), "Up") == Paste("text", "put the text into the row for typed text")


def test_a_paste_that_is_not_shown_yet_is_waited_for() -> None:
    model = DialogModel(SINGLE)
    model.press("Up")
    taken = (Acted(Paste("text", ""), screen(model)),)

    assert isinstance(step(SINGLE, (FreeText("text"),), "Up", taken=taken), Wait)
    assert isinstance(step(SINGLE, (FreeText("text"),), "Up", "left te", taken=taken), Wait)
    assert pressed(SINGLE, (FreeText("text"),), "Up", "paste text") == "Enter"


def test_a_single_digit_never_comes_alone_into_the_empty_row() -> None:
    """Older clients take it for the number of an option."""
    model = DialogModel(SINGLE)
    model.press("Up")
    taken = (Acted(Paste("3x", ""), screen(model)),)
    model.paste("3x")

    assert step(SINGLE, (FreeText("3"),), "Up") == Paste("3x", "put the text into the row for typed text")
    assert isinstance(step(SINGLE, (FreeText("3"),), "Up", taken=taken), Wait)
    removal = step(SINGLE, (FreeText("3"),), "Up", "left 3x", taken=taken)
    assert removal == Press("BSpace", "leave only the digit in the row for typed text")
    taken += (Acted(removal, screen(model)),)
    entered = step(SINGLE, (FreeText("3"),), "Up", "left 3x", "BSpace", taken=taken)
    assert isinstance(entered, Press)
    assert entered.key == "Enter"
    # What somebody else left counts for nothing.
    assert pressed(SINGLE, (FreeText("3"),), "Up", "left 3") == "C-e"


@pytest.mark.parametrize(
    ("decision", "keys", "key"),
    [
        (MultiSelect((0,)), [], "1"),
        (MultiSelect((1,)), ["2", "Up", "1"], "Enter"),
        (MultiSelect((1,)), ["Space"], "1"),
        (MultiSelect((1,)), ["1", "1"], "2"),
        (MultiSelect((0,)), ["Space"], "Tab"),
        (MultiSelect((0,), "x"), ["Space"], "Up"),
        (MultiSelect((0,), "x"), ["Space", "Up", "paste x"], "Down"),
        (MultiSelect((0,), "x"), ["Space", "Up", "paste x", "Enter"], "Enter"),
        (MultiSelect((0,), "x"), ["Space", "Up", "paste x", "Down"], "Enter"),
        (MultiSelect((0,)), ["Space", "Up", "paste x"], "Enter"),
        (MultiSelect((0,)), ["Space", "Up", "paste x", "Enter"], "Down"),
    ],
)
def test_multi_select(decision: Decision, keys: list[str], key: str) -> None:
    assert pressed(MULTI, (decision,), *keys) == key


@pytest.mark.parametrize(
    ("decision", "keys", "key"),
    [
        (Select(0), [], "Enter"),
        (Select(1), [], "Down"),
        (Select(1, "note"), ["Down"], "n"),
        (Select(1, "note"), ["Down", "n", "paste note"], "Escape"),
        (Select(1, "note"), ["Down", "n", "paste note", "Escape"], "Enter"),
        (Select(0), ["n", "paste left", "Escape"], "n"),
        (Chat("talk"), ["Down"], "Down"),
        (Chat("talk"), ["Down", "Down"], "Enter"),
    ],
)
def test_preview(decision: Decision, keys: list[str], key: str) -> None:
    assert pressed(PREVIEW, (decision,), *keys) == key


def test_a_note_is_pasted_into_the_open_field() -> None:
    assert isinstance(step(PREVIEW, (Select(1, "note"),), "Down", "n"), Paste)


def test_old_clients_on_which_escape_in_the_notes_declines_get_no_note() -> None:
    model = DialogModel(PREVIEW)

    old = screen(model, " ▐▛███▛█   Claude Code v2.1.120")
    assert decide(old, PREVIEW, (Select(0, "note"),), ()) == GiveUp("notes cannot be entered safely on client 2.1.120")
    new = screen(model, " ▐▛███▛█   Claude Code v2.1.330")
    assert decide(new, PREVIEW, (Select(0, "note"),), ()) == Press("n", "open the notes field")


RIGHT = (Select(0), MultiSelect((1,)), Select(1))
TO_REVIEW = ("Enter", "Down", "Space", "Tab", "Down", "Enter")


def test_the_review_is_submitted_when_every_answer_is_right() -> None:
    assert pressed(TABS, RIGHT, *TO_REVIEW) == "Enter"
    assert pressed(TABS, RIGHT, *TO_REVIEW, "Down") == "Up"


@pytest.mark.parametrize(
    "decisions",
    [
        (Select(1), MultiSelect((1,)), Select(1)),
        (Select(0), MultiSelect((0, 1)), Select(1)),
        (Select(0), MultiSelect((1,), "B"), Select(1)),
        (Select(0), MultiSelect(()), Select(1)),
        (Select(0), MultiSelect((1,)), Select(0)),
        (FreeText("A "), MultiSelect((1,)), Chat("no")),
    ],
)
def test_the_review_is_left_when_an_answer_is_wrong(decisions: tuple[Decision, ...]) -> None:
    assert pressed(TABS, decisions, *TO_REVIEW) == "Left"


def test_a_review_without_any_question_may_be_that_of_another_form() -> None:
    model = DialogModel(TABS)
    for key in ("Tab", "Tab"):
        model.press(key)
    page = screen(model)
    model.press("Tab")
    shown = screen(model)
    # One tab is marked, but no answer is listed: whose page it is cannot be told, nor what was done there.
    marked = shown._replace(lines=tuple(line.replace("☐", "☒", 1) for line in shown.lines))
    found = decide(marked, TABS, RIGHT, ())
    assert isinstance(found, Wait)
    assert "may be another form's" in found.why

    came_from_the_form = (Acted(Press("Tab", ""), page),)
    left = decide(screen(model), TABS, RIGHT, came_from_the_form)
    assert isinstance(left, Press)
    assert left.key == "Left"


def test_from_a_review_without_any_answer_only_left_is_pressed() -> None:
    review = screen(DialogModel(TABS, on_kept_review=True))
    nothing = (MultiSelect(()),)
    for form, decisions in ((TABS, RIGHT), (TABS, (Chat("no"),)), (SINGLE, (Select(1),)), (MULTI, nothing)):
        shown = screen(DialogModel(form, on_kept_review=True))
        acted: tuple[Acted, ...] = ()
        for _ in range(CORRECTIONS):
            found = decide(shown, form, decisions, acted)
            assert isinstance(found, Press)
            assert (found.key, found.effect) == ("Left", Effect.LEAVES)
            acted += (Acted(found, shown),)
        # The key leads nowhere: whose page it is has never been seen.
        assert isinstance(decide(shown, form, decisions, acted), GiveUp)
    for line in ("Review your answers", "← "):
        other = review._replace(lines=tuple(each.replace(line, "Another text") for each in review.lines))
        assert isinstance(decide(other, TABS, RIGHT, ()), Wait)


def test_a_review_that_the_dialog_before_has_left_is_never_submitted() -> None:
    """Two forms of one message may ask the same, and 2.1.150 then keeps the answers of the first one, too."""
    model = DialogModel(MULTI, on_kept_review=True)
    model.questions[0].ticked[0] = True
    right = (MultiSelect((0,)),)
    found = decide(screen(model), MULTI, right, ())
    assert isinstance(found, Press)
    assert found.key == "Left"
    acted = (Acted(found, screen(model)),)
    model.press("Left")
    back = decide(screen(model), MULTI, right, acted)
    assert isinstance(back, Press)
    assert back.key == "Tab"
    acted += (Acted(back, screen(model)),)
    model.press("Tab")
    submits = decide(screen(model), MULTI, right, acted)
    assert isinstance(submits, Press)
    assert (submits.key, submits.effect) == ("Enter", Effect.SUBMITS)


def test_all_questions_are_answered_from_the_first_one_on_after_a_review_without_any_answer() -> None:
    model = DialogModel(TABS, on_kept_review=True)
    keys: list[str] = []
    acted: tuple[Acted, ...] = ()
    while model.outcome is None:
        shown = screen(model)
        found = decide(shown, TABS, RIGHT, acted)
        assert isinstance(found, Press), found
        acted += (Acted(found, shown),)
        keys.append(found.key)
        model.press(found.key)
    assert keys[:3] == ["Left", "BTab", "BTab"]
    assert "Enter" not in keys[:3]
    assert model.outcome == "answered"
    assert model.result is not None
    assert len(model.result["answers"]) == 3
    assert keys.count("Left") == 1


def test_the_end_of_a_long_answer_counts_only_after_this_delivery_has_entered_it() -> None:
    form = AskUserQuestionInput(questions=(question("Which?", "A", "B"), question("Why?", "C", "D")))
    text = "many words " * 100
    small = {"width": 60, "height": 12}
    model = DialogModel(form)
    first = screen(model, **small)
    model.press("1")
    pages = [screen(model, **small)]
    model.press("Up")
    pages.append(screen(model, **small))
    model.paste(text)
    pages.append(screen(model, **small))
    model.press("Enter")
    end = screen(model, **small)
    steps = (Press("1", ""), Press("Up", ""), Paste(text, ""), Press("Enter", ""))
    done = tuple(Acted(each, before) for each, before in zip(steps, (first, *pages), strict=True))

    def on_review(meant: str, taken: tuple[Acted, ...]) -> Step:
        return decide(end, form, (Select(0), FreeText(meant)), taken)

    found = on_review(text, done)
    assert isinstance(found, Press)
    assert found.key == "Enter"
    for meant, taken in ((text, ()), (text, done[:2]), (text + "x", done), ("words", done), (text, done[-1:])):
        assert isinstance(on_review(meant, taken), Wait)
    # The first question was not answered in this delivery, and its answer is not visible.
    found = on_review(text, done[1:])
    assert isinstance(found, Press)
    assert found.key == "Left"


def test_only_wrong_answers_are_visited_again() -> None:
    model = DialogModel(TABS)
    for key in TO_REVIEW:
        model.press(key)
    decisions = (Select(1), MultiSelect((1,)), Select(1))
    taken: list[Acted] = []
    pages = []
    for _ in range(30):
        now = screen(model)
        found = decide(now, TABS, decisions, taken)
        assert isinstance(found, Press), found
        taken.append(Acted(found, now))
        pages.append((model.tab, found.key))
        model.press(found.key)
        if model.result is not None:
            break

    assert model.result == {
        "answers": {"Which?": "B", "Which ones?": "B", "Layout?": "B"},
        "annotations": {"Layout?": {"preview": "<p>"}},
    }
    # The cursor stands on what was chosen before, except in a multi-select.
    assert pages == [
        (3, "Left"),
        (2, "BTab"),
        (1, "BTab"),
        (0, "2"),
        (1, "Tab"),
        (2, "Tab"),
        (3, "Enter"),
    ]


@pytest.mark.parametrize(
    ("form", "decisions", "why"),
    [
        (SINGLE, (), "one decision for each question"),
        (SINGLE, (Select(0), Select(0)), "one decision for each question"),
        (SINGLE, (Select(3),), "numbered 0 to 2"),
        (SINGLE, (Select(-1),), "numbered 0 to 2"),
        (SINGLE, (Select(0, "note"),), "takes no notes"),
        (SINGLE, (MultiSelect((0,)),), "one option"),
        (SINGLE, (FreeText(" \n "),), "is empty"),
        (SINGLE, (FreeText("path\\"),), "backslash"),
        (SINGLE, (FreeText("bell\a"),), r"U\+0007"),
        (SINGLE, (FreeText("Type something"),), "cannot be read back"),
        (SINGLE, (Chat("!rm"),), "is a shell command"),
        (MULTI, (Select(0),), "must be multi-select"),
        (MULTI, (MultiSelect((2,)),), "numbered 0 to 1"),
        (MULTI, (MultiSelect((0,), " B"),), "is the label of option 2"),
        (TABS, (Chat("x"), MultiSelect((0,)), Select(0)), "must come last"),
    ],
)
def test_what_cannot_be_typed_is_said_before_any_key(
    form: AskUserQuestionInput, decisions: tuple[Decision, ...], why: str
) -> None:
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(why_untypable(form, decisions))
    found = decide(screen(DialogModel(form)), form, decisions, ())
    assert isinstance(found, GiveUp)


def test_every_placeholder_that_is_known_on_screen_is_refused_as_a_text() -> None:
    seen = {each.text for each in (*grammar.PLACEHOLDERS, grammar.NOTES_EMPTY, grammar.NOTES_OPEN)}

    assert seen == set(PLACEHOLDERS)


TALL = AskUserQuestionInput(
    questions=(
        Question(
            question="Which of these long ones?",
            header="Long",
            options=tuple(Option(label=f"Option {at} " + "word " * 12, description="words " * 25) for at in range(4)),
            multi_select=True,
        ),
    )
)


def play(
    form: AskUserQuestionInput, decisions: tuple[Decision, ...], *before: str, width: int = 60, height: int = 20
) -> tuple[DialogModel, list[str], Step]:
    """Let the planner answer a model; return it with the keys, and the step at which it stopped."""
    model = DialogModel(form)
    for key in before:
        model.press(key)
    taken: list[Acted] = []
    while model.outcome is None and len(taken) < 60:
        now = screen(model, width=width, height=height)
        found = decide(now, form, decisions, taken)
        if isinstance(found, Press):
            model.press(found.key)
        elif isinstance(found, Paste):
            model.paste(found.text)
        else:
            return model, [each.step[0] for each in taken], found
        taken.append(Acted(found, now))
    return model, [each.step[0] for each in taken], (Done if model.result is not None else GiveUp)("")


@pytest.mark.parametrize("indices", [(1, 3), (0,), (0, 1, 2, 3), (2,), (3,)])
@pytest.mark.parametrize("text", [None, "and this"])
@pytest.mark.parametrize("before", [(), ("Space",), ("Down", "Space", "Down"), ("Down",) * 5])
def test_options_above_the_visible_part_are_ticked_by_number(
    indices: tuple[int, ...], text: str | None, before: tuple[str, ...]
) -> None:
    model, keys, stop = play(TALL, (MultiSelect(indices, text),), *before)

    labels = [TALL.questions[0].options[index].label.strip() for index in indices]
    assert model.result is not None, (keys, stop)
    assert model.result["answers"] == {TALL.questions[0].question: ", ".join(labels + [text] * (text is not None))}
    assert len(keys) < 40


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("before", [(), ("Up",), ("Down",) * 3, ("Down",) * 5])
def test_an_option_above_the_visible_part_is_chosen_by_number(index: int, before: tuple[str, ...]) -> None:
    single = AskUserQuestionInput(questions=(replace(TALL.questions[0], multi_select=False),))
    model, _, stop = play(single, (Select(index),), *before, height=16)

    assert model.result is not None, stop
    assert model.result["answers"] == {single.questions[0].question: single.questions[0].options[index].label.strip()}


def test_what_neither_page_nor_review_shows_is_not_submitted() -> None:
    form = AskUserQuestionInput(
        questions=(*TALL.questions, question("A last one? " + "words " * 200, "Yes please", "No thanks"))
    )

    model, _, stop = play(form, (MultiSelect((0,)), Select(0)))

    assert model.result is None
    assert stop == GiveUp("neither all rows of question 1 nor its answer on the review screen are visible")


def test_a_key_that_leads_in_circles_is_not_pressed_on_and_on() -> None:
    now = screen(DialogModel(PREVIEW))
    taken: list[Acted] = []
    for _ in range(10):
        found = decide(now, PREVIEW, (Select(1),), taken)
        if not isinstance(found, Press):
            break
        taken.append(Acted(found, now))

    assert isinstance(found, GiveUp)
    assert "in circles: Down" in found.why
    assert len(taken) == 3


def emoji(*labels: str, multi: bool = False) -> AskUserQuestionInput:
    return AskUserQuestionInput(questions=(question("Which face?", *labels, multi=multi), question("Sure?", "Y", "N")))


@pytest.mark.parametrize(
    ("labels", "multi", "chosen", "step"),
    [
        (("👍", "👎"), False, Select(0), "Enter"),
        (("👍", "👎"), False, Select(1), "Left"),
        (("ok 👍", "ok 👎"), True, MultiSelect((0,)), "Enter"),
        (("ok 👍", "ok 👎"), True, MultiSelect((1,)), "Left"),
        (("R\u00e9sum\u00e9", "Resume"), False, Select(0), "Enter"),
        (("R\u00e9sum\u00e9", "Resume"), False, Select(1), "Left"),
        (("R\u00e9sum\u00e9", "Resume"), True, MultiSelect((0,)), "Enter"),
        (("R\u00e9sum\u00e9", "Resume"), True, MultiSelect((1,)), "Left"),
        (("Re\u0301sume\u0301", "Resume"), False, Select(0), None),
        (("ok\u200c", "ok"), False, Select(0), None),
        (("ok\u200c", "ok"), True, MultiSelect((0,)), None),
        (("ok\u200c", "ok"), True, MultiSelect((0, 1)), "Left"),
    ],
)
def test_the_review_does_not_confuse_options_that_differ_only_in_emoji_or_accents(
    labels: tuple[str, ...], multi: bool, chosen: Decision, step: str | None
) -> None:
    form = emoji(*labels, multi=multi)
    model = DialogModel(form)
    for key in ["Space", "Tab", "Enter"] if multi else ["Enter", "Enter"]:
        model.press(key)
    found = decide(screen(model), form, (chosen, Select(0)), ())

    if step is None:
        assert found == GiveUp("the review screen does not tell the options of question 1 apart")
    elif step == "Left":
        # The form's first answer is that of the first option.
        assert isinstance(found, Press)
        assert (found.key, "question 1" in found.why) == ("Left", True)
    else:
        assert isinstance(found, Press)
        assert found.key == step


def test_text_that_somebody_typed_is_not_taken_for_another_emoji() -> None:
    assert pressed(SINGLE, (FreeText("👍"),), "Up", "left 👎") == "C-e"
    assert pressed(SINGLE, (FreeText("👍"),), "Up", "left 👍") == "C-e"
    assert pressed(SINGLE, (FreeText("👍"),), "Up", "paste 👍") == "Enter"


def test_text_that_somebody_left_does_not_count_because_its_blanks_do_not_show() -> None:
    assert pressed(SINGLE, (FreeText("a b"),), "Up", "left a b ") == "C-e"
    assert pressed(MULTI, (MultiSelect((), "a b"),), "Up", "left a b ") == "C-e"
    noted = (Select(0, "a b"),)
    assert pressed(PREVIEW, noted, "n", "left a b ") == "C-e"
    assert pressed(PREVIEW, noted, "n", "left a b ", "Escape") == "n"
    assert pressed(MULTI, (MultiSelect((), "a b"),), "Up", "left a b ", "Down", "Enter") == "Left"
    assert pressed(MULTI, (MultiSelect((), "a b"),), "Up", "paste a b", "Down", "Enter") == "Enter"


def test_a_dialog_with_previews_takes_no_typed_answer() -> None:
    found = step(PREVIEW, (FreeText("free"),))

    assert isinstance(found, GiveUp)


def test_the_outline_names_every_step() -> None:
    lines = GrammarPlanner().outline(TABS, (FreeText("x"), MultiSelect((0,), "y"), Select(1, "n")))

    assert len(lines) == 10
    assert lines[0] == "question 1 (Which?): move to the row for typed text"
    assert lines[-1] == "review screen: compare every answer shown, then submit"
    assert GrammarPlanner().outline(SINGLE, (FreeText(" "),)) == [
        "nothing: question 1: the text is empty: Claude Code would decline the form or record nothing"
    ]


@given(
    st.lists(st.text(max_size=50), max_size=30),
    st.sampled_from([(SINGLE, (Select(1),)), (MULTI, (MultiSelect((0,), "x"),)), (TABS, RIGHT), (TABS, (Chat("x"),))]),
)
def test_nothing_is_pressed_on_a_screen_of_anything_else(
    lines: list[str], intention: tuple[AskUserQuestionInput, tuple[Decision, ...]]
) -> None:
    found = decide(Screen(tuple(lines), 80, 40), *intention, ())

    assert isinstance(found, (Wait, GiveUp))


@given(st.data())
def test_nothing_is_pressed_on_another_forms_dialog(data: st.DataObject) -> None:
    model = DialogModel(TABS)
    for key in data.draw(st.lists(st.sampled_from(["Up", "Down", "Tab", "BTab", "Enter", "Space"]), max_size=8)):
        model.press(key)
    lines = model.render(80, data.draw(st.integers(8, 40))) if model.outcome is None else ["❯"]
    other = AskUserQuestionInput(
        questions=(question("Which one?", "A", "B", "C"), question("Which ones are it?", "A", "C", multi=True))
    )

    found = decide(Screen(tuple(lines), 80, 40), other, (Select(0), MultiSelect((0,))), ())

    assert isinstance(found, (Wait, GiveUp))


@pytest.mark.parametrize("queued", [("  ❯ ask me again",), ("  ❯ first", "    its second line", "  > another")])
def test_prompts_that_wait_below_the_dialog_are_no_part_of_it(queued: tuple[str, ...]) -> None:
    """As 2.1.250 draws a text that is sent while Claude still works."""
    shown = screen(DialogModel(SINGLE))
    lines = [line for line in shown.lines if line]
    for blanks in ((), ("",)):
        below = shown._replace(lines=(*lines, *blanks, *queued, ""))
        assert decide(below, SINGLE, (Select(1),), ()) == Press(
            "2", "choose option 2 of question 1 by its number", Effect.SUBMITS
        )
    other = shown._replace(lines=(*lines, "", "    its second line"))
    assert isinstance(decide(other, SINGLE, (Select(1),), ()), Wait)


def test_a_form_that_was_declined_before_is_not_taken_for_the_one_that_was_just_submitted() -> None:
    """2.1.30 shows the answers late, and does not say which form was declined."""
    before = ("● ", "  ⎿  Tool use rejected with user message: The user wants to clarify these questions.")
    dialog = screen(DialogModel(SINGLE))
    box = ("─" * 120, "❯ ", "─" * 120)
    closed = dialog._replace(lines=(*before, *box))
    for above, expected in (((), GiveUp), (before, Wait)):
        taken = [
            Acted(
                Press("1", "", Effect.SUBMITS),
                dialog._replace(lines=(*above, *(line for line in dialog.lines if line))),
            )
        ]
        assert isinstance(decide(closed, SINGLE, (Select(0),), taken), expected)


@pytest.mark.parametrize("text", ['Try "pytest -q" first', '  Try "', '\nTry "x"\nand go on'])
def test_a_chat_that_reads_as_the_empty_prompt_box_is_refused_before_any_key(text: str) -> None:
    decisions = (Chat(text),)
    found = step(SINGLE, decisions)
    assert isinstance(found, GiveUp)
    assert "in an empty prompt box" in found.why
    [line] = GrammarPlanner().outline(SINGLE, decisions)
    assert found.why in line
    assert not isinstance(step(SINGLE, (Chat('Do not Try "pytest"'),)), GiveUp)
