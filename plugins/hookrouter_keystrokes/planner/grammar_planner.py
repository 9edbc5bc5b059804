"""Decides the next key from what is on screen: the planner named ``grammar``.

A pure function of the screen, the form, the decisions and the steps taken so far. It holds no script: it looks at
the page that is on screen and takes the one step that brings it nearer to the intention, so it also goes on from
wherever a person, a lost key or an earlier attempt has left the dialog. Earlier steps (:class:`History`) are consulted
only if the screen cannot tell: whether a paste is still on its way, which question the review screen showed wrong, and
whether the key that submits has been pressed. What to do on a page is in one module for each kind of page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.forms import has_review, outline, why_untypable
from hookrouter.answering.input_limits import chat_faults
from hookrouter.answering.interfaces import Done, GiveUp, KeystrokePlanner, Press, SeenDialog, View, Wait
from hookrouter_keystrokes.decisions import planner
from hookrouter_keystrokes.dialog_forms import TOLD
from hookrouter_keystrokes.planner.chat import ChatPlan
from hookrouter_keystrokes.planner.choice import ChoicePlan
from hookrouter_keystrokes.planner.history import UNCOUNTED
from hookrouter_keystrokes.planner.long_text import LongTextPlan
from hookrouter_keystrokes.planner.multi_select import MultiSelectPlan
from hookrouter_keystrokes.planner.pages import PagePlan
from hookrouter_keystrokes.planner.plan import Plan
from hookrouter_keystrokes.planner.preview import PreviewPlan
from hookrouter_keystrokes.planner.review import ReviewPlan
from hookrouter_keystrokes.prompting.facts import ENDS
from hookrouter_keystrokes.prompting.hidden import without_dropped
from hookrouter_keystrokes.screens.model import (
    Closed,
    LongTextPage,
    OtherDialog,
    Page,
    Prompt,
    Review,
    RowKind,
    Unknown,
)
from hookrouter_keystrokes.screens.prompt import is_hint
from hookrouter_keystrokes.screens.reading import read, read_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AskedDialog, Step, Taken
    from hookrouter.terminals import Screen
    from hookrouter.tools import AskUserQuestionInput, Question
    from hookrouter_keystrokes.screens.model import DialogState

__all__ = ["GrammarPlanner"]

_REPEATS = 3
"""How often one key is pressed on one state of the dialog, before that counts as going in circles."""


class GrammarPlanner(KeystrokePlanner):
    """The keystroke planner that reads the dialog by its grammar."""

    name = "grammar"
    kinds = ("permission", "plan", "blocked")
    sees_dialogs = True

    def read(self, screen: Screen, form: AskUserQuestionInput) -> View:
        """Return what is on screen; its state is one of :mod:`hookrouter_keystrokes.screens.model`."""
        state = read(screen, form)
        return View(
            screen,
            state,
            shown=isinstance(state, (Page, LongTextPage, Review)),
            pages=_pages(state),
            cursor_hidden=isinstance(state, Page) and state.cursor is None,
            test_key=_test_key(state),
            may_show=_may_show(state),
        )

    def next_step(
        self,
        view: View,
        form: AskUserQuestionInput,
        decisions: Sequence[Decision],
        taken: Sequence[Taken],
    ) -> Step:
        """Return what to do."""
        refusal = _refusal(form, decisions)
        if refusal is not None:
            return GiveUp(refusal)
        plan = Plan(form, decisions, taken)
        return _unless_circling(plan, view.state, _step(plan, view.state, view.screen))

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
        """Describe what a freshly opened dialog would get, one line a step."""
        return outline(_refusal(form, decisions), lambda: _outline(form, decisions))

    def read_dialog(self, screen: Screen, asked: AskedDialog) -> View:
        """Return what is on screen."""
        return planner.read(screen, asked)

    def next_dialog_step(self, view: View, asked: AskedDialog, taken: Sequence[Taken]) -> Step:
        """Return what to do about another dialog."""
        return planner.next_step(view, asked, taken)

    def outline_dialog(self, asked: AskedDialog) -> list[str]:
        """Describe what a freshly opened dialog would get, one line a step."""
        return planner.outline(asked)

    def seen(self, screen: Screen) -> SeenDialog | None:
        """Return which dialog is on screen."""
        state = read_any(screen)
        if isinstance(state, OtherDialog):
            # What shows in part could be another one.
            is_whole = state.is_list and not state.clipped
            return SeenDialog(state.kind, state.rows if is_whole else (), state.body, state.kind in TOLD)
        # What is built like a question is told by the hook of its tool.
        return SeenDialog("question", (), is_told=True) if isinstance(state, Unknown) and state.dialog else None


def _refusal(form: AskUserQuestionInput, decisions: Sequence[Decision]) -> str | None:
    """Return why these decisions cannot be entered by this planner, or None if they can."""
    unsaid = _why_unsaid(decisions[-1].text) if decisions and isinstance(decisions[-1], Chat) else None
    return unsaid or why_untypable(form, decisions)


def _why_unsaid(text: str) -> str | None:
    """Return why the client would not take a chat's text for a prompt, so that it was lost once the form is declined.

    None if it would.
    """
    shown = without_dropped(text)
    if is_hint(shown):
        return (
            "the chat's text begins like a hint that Claude Code shows in an empty prompt box, so that it could not be "
            "read back; begin with another word"
        )
    if shown.strip() in ENDS:
        return f"the chat's text is {shown.strip()!r}, which ends the client if it is typed alone; say it in more words"
    if shown != text and (faults := chat_faults(shown)):
        return f"the chat's text, without the invisible characters that the client drops, {faults[0]}"
    return None


def _may_show(state: DialogState) -> bool:
    """Whether what can be read may be the form's, leaving out what shows nothing of any form."""
    if isinstance(state, Review):
        return state.certain or state.untouched
    return isinstance(state, Page) or (isinstance(state, Unknown) and state.fits)


def _pages(state: DialogState) -> frozenset[object]:
    if isinstance(state, Review):
        return frozenset(["review"])
    if isinstance(state, LongTextPage):
        return frozenset(["long text"])
    if not isinstance(state, Page):
        return frozenset()
    # What fills the pane, so that only its end is read, is in its page's row for typed text.
    typed = state.row(RowKind.TYPE)
    return frozenset([state.question, "long text"] if typed is not None and typed.text else [state.question])


def _test_key(state: DialogState) -> str:
    if isinstance(state, Review):
        return "Down" if state.on_submit else ""
    if isinstance(state, LongTextPage):
        return "Down"
    if not isinstance(state, Page) or (state.notes is not None and state.notes.focused and state.cursor is not None):
        return ""
    if state.cursor is None or state.rows[state.cursor].kind not in (RowKind.CHAT, RowKind.SKIP):
        return "Down"
    return "Up"


def _step(plan: Plan, state: DialogState, screen: Screen) -> Step:
    if isinstance(state, Page):
        return _page(plan, state, screen)
    if isinstance(state, LongTextPage):
        return LongTextPlan(plan).step(state)
    if isinstance(state, Review):
        return ReviewPlan(plan).step(state)
    if isinstance(state, Prompt):
        return _prompt(plan, state)
    return Wait(state.why)


def _page(plan: Plan, page: Page, screen: Screen) -> Step:
    number = page.question
    to_correct = plan.corrections()
    if plan.chat is not None:
        target = len(plan.decisions) - 1
        if number == target or len(plan.decisions) == 1:
            return ChatPlan(plan).choose(page)
        if number > target:
            return PagePlan(plan).leave(page, "BTab", f"go back to question {target + 1}")
    elif to_correct and min(to_correct) < number:
        return PagePlan(plan).leave(page, "BTab", f"go back to question {min(to_correct) + 1}")
    elif to_correct is not None and number not in to_correct:
        return PagePlan(plan).leave(page, "Tab", "go on to what is still to be corrected")
    decision = plan.decisions[number]
    if isinstance(decision, MultiSelect):
        return MultiSelectPlan(plan).step(page, decision, correcting=to_correct is not None)
    if page.preview:
        return PreviewPlan(plan).step(page, decision, screen)
    return ChoicePlan(plan).step(page, decision)


def _prompt(plan: Plan, prompt: Prompt) -> Step:
    if plan.chat is not None:
        return ChatPlan(plan).say(prompt, plan.chat.text)
    if plan.history.submitted():
        if prompt.closed == Closed.ANSWERED:
            return Done("the client took the answer")
        if prompt.closed == Closed.DECLINED and not plan.history.said_declined():
            return GiveUp("the form was declined instead of answered")
        return Wait("the dialog has closed, but the client does not show yet that it was answered")
    if plan.history.taken and prompt.closed is not None:
        return GiveUp(f"the form was {prompt.closed} by somebody else half-way")
    return Wait("the question's dialog is not on screen; the prompt box is")


def _unless_circling(plan: Plan, state: DialogState, step: Step) -> Step:
    """Return ``step``, or GiveUp if it was taken on this very page again and again, and led back to it."""
    if not isinstance(step, Press) or step.key in UNCOUNTED or not isinstance(state, (Page, LongTextPage)):
        return step
    # If the row with the cursor is not visible, moving it changes nothing on the screen.
    limit = _REPEATS
    if isinstance(state, Page) and state.cursor is None:
        limit += len(plan.form.questions[state.question].options)
    if plan.history.times_taken(step, state) < limit:
        return step
    return GiveUp(f"the keys lead in circles: {step.key} ({step.why}) changed nothing for good")


def _outline(form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
    lines = []
    for number, (question, decision) in enumerate(zip(form.questions, decisions, strict=False)):
        where = f"question {number + 1} ({question.header})" if len(form.questions) > 1 else "the question"
        lines += [f"{where}: {line}" for line in _question_outline(question, decision)]
    if not any(isinstance(decision, Chat) for decision in decisions) and has_review(form):
        lines.append("review screen: compare every answer shown, then submit")
    return lines


def _question_outline(question: Question, decision: Decision) -> list[str]:
    if isinstance(decision, Select):
        label = question.options[decision.option_index].label
        note = [f"add the note {decision.notes!r}"] if decision.notes else []
        return [f"move to option {decision.option_index + 1}, {label!r}", *note, "choose it"]
    if isinstance(decision, FreeText):
        return ["move to the row for typed text", f"paste {decision.text!r} and read it back", "enter it"]
    if isinstance(decision, Chat):
        return [
            "move to the chat row",
            "choose it, which declines the form",
            f"send {decision.text!r} as the next prompt",
        ]
    ticks = ", ".join(repr(question.options[index].label) for index in decision.selected_indices) or "nothing"
    typed = [f"paste {decision.text!r} into the row for typed text"] if decision.text is not None else []
    return [f"tick {ticks}", *typed, "leave the page"]
