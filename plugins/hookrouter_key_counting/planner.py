"""Presses a script of keys, one after the other: the planner named ``key-counting``.

It knows what the keys do, which has been the same from Claude Code 2.0.76 to 2.1.330, and nothing about how the client
draws rows, boxes or a cursor. What it asks of the screen is text:

* a page counts as shown if the question is on screen, and below it every option with its number, in order;
* the first key moves the cursor, which does no harm anywhere; the dialog is taken to be there once it has reacted;
* every key is followed by a change below the question, or by the next page, before the next key;
* a typed text must have replaced the empty field's own words, and nothing else may have changed;
* a review is submitted only if the intended answers are on it, in order.

Options are chosen and ticked by number, which does not depend on where the cursor was. How far it is, is told by
``taken`` alone, so a dialog that somebody has half filled is at most left as it is, with the reason.
"""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.forms import has_previews, has_review, outline, why_untypable
from hookrouter.answering.interfaces import Done, Effect, GiveUp, KeystrokePlanner, Paste, Press, View, Wait
from hookrouter.answering.labels import cut, recorded_label
from hookrouter.answering.recording import chosen_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import Step, Taken
    from hookrouter.terminals import Screen
    from hookrouter.tools import AskUserQuestionInput, Question

__all__ = ["KeyCountingPlanner"]

_EMPTY_FIELD = "Typesomething"
"""What an empty field begins with, on every client so far; asked for only if a text is too long to be seen whole."""
_BOX = re.compile(r"[\[(].?[\])]")
_END = 40
"""How much of the end of such a text must be on screen."""


class KeyCountingPlanner(KeystrokePlanner):
    """The keystroke planner that counts."""

    name = "key-counting"

    def read(self, screen: Screen, form: AskUserQuestionInput) -> View:
        """Return the screen as it is: this planner does not read the dialog, so any change counts."""
        shown = "".join(map(_key, screen.lines))
        # Wherever they stand: on a review, nothing but the words tells whose it is.
        words = (text for question in form.questions for text in _drawn(question.question))
        return View(screen, screen.lines, may_show=any(text in shown for text in words))

    def next_step(
        self,
        view: View,
        form: AskUserQuestionInput,
        decisions: Sequence[Decision],
        taken: Sequence[Taken],
    ) -> Step:
        """Return what to do on this screen."""
        refusal = _refusal(form, decisions)
        if refusal is not None:
            return GiveUp(refusal)
        return _Count(form, decisions, taken).step(view.screen)

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
        """Describe what a freshly opened dialog would get, one line a step."""
        return outline(_refusal(form, decisions), lambda: [_described(key) for key in _script(form, decisions)])


class _Key(NamedTuple):
    """One step of the script, and where it belongs."""

    step: Press | Paste
    question: int
    """The index of the question whose page it is for; the number of questions for the review."""
    only_if_still_there: bool = False
    """Whether the step is left out if the one before it has already led to the next page."""


def _described(key: _Key) -> str:
    what = key.step.key if isinstance(key.step, Press) else f"paste {key.step.text!r}"
    return f"{what}: {key.step.why}"


def _script(form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[_Key]:
    keys: list[_Key] = []
    for number, (question, decision) in enumerate(zip(form.questions, decisions, strict=True)):
        keys += [_Key(*entry) for entry in _page_keys(question, decision, number)]
    if has_review(form):
        keys.append(_Key(Press("Enter", "submit: every intended answer is on screen"), len(form.questions)))
    # The one before the last may have done it already.
    ending = keys[-2:] if keys[-1].only_if_still_there else keys[-1:]
    return keys[: len(keys) - len(ending)] + [_submitting(key) for key in ending]


def _page_keys(question: Question, decision: Decision, number: int) -> Iterator[tuple[Press | Paste, int, bool]]:
    count, what = len(question.options), f"question {number + 1}"
    if isinstance(decision, Select):
        yield Press("Down", f"see whether {what} reacts"), number, False
        if has_previews(question):
            # With previews a number only moves there, and moving to where the cursor is would show no effect.
            if decision.option_index == 1:
                yield Press("Up", "back to the first option"), number, False
            yield Press(str(decision.option_index + 1), f"option {decision.option_index + 1} of {what}"), number, False
            yield Press("Enter", "choose it, unless its number did"), number, True
        else:
            yield Press(str(decision.option_index + 1), f"choose option {decision.option_index + 1}"), number, False
    elif isinstance(decision, FreeText):
        yield Press("Down", f"see whether {what} reacts"), number, False
        yield Press(str(count + 1), "to the row for typed text, by its number"), number, False
        yield Paste(decision.text, f"the text for {what}"), number, False
        yield Press("Enter", "enter it"), number, False
    elif isinstance(decision, MultiSelect):
        yield Press("Down", f"see whether {what} reacts"), number, False
        for index in sorted(set(decision.selected_indices)):
            yield Press(str(index + 1), f"tick option {index + 1} of {what}, by its number"), number, False
        if decision.text is None:
            yield Press("Tab", f"leave {what}"), number, False
            return
        for _ in range(count - 1):
            yield Press("Down", "towards the row for typed text"), number, False
        yield Paste(decision.text, f"the text for {what}"), number, False
        # Clients up to 2.1.180 drop the text unless its box is switched after typing.
        yield Press("Enter", "switch the text's box"), number, False
        yield Press("Enter", "and back"), number, False
        yield Press("Down", "to the row that leaves the page"), number, False
        yield Press("Enter", f"leave {what}"), number, False


def _submitting(key: _Key) -> _Key:
    step = key.step
    return key._replace(step=step._replace(effect=Effect.SUBMITS)) if isinstance(step, Press) else key


def _refusal(form: AskUserQuestionInput, decisions: Sequence[Decision]) -> str | None:
    """Return why these decisions cannot be entered by counting keys, or None if they can."""
    if any(isinstance(decision, Chat) for decision in decisions):
        return "counting keys cannot tell whether a form was declined for a chat; use the planner grammar"
    refusal = why_untypable(form, decisions)
    if refusal is not None:
        return refusal
    keys = [_key(question.question) for question in form.questions]
    if not all(keys) or len(set(keys)) < len(keys):
        return "counting keys tells questions apart by their letters and digits, which these do not allow"
    for number, (question, decision) in enumerate(zip(form.questions, decisions, strict=True)):
        refusal = _question_refusal(question, decision)
        if refusal is not None:
            return f"question {number + 1}: {refusal}"
    return None


def _question_refusal(question: Question, decision: Decision) -> str | None:
    if isinstance(decision, Select):
        return None if decision.notes is None else "counting keys cannot enter a note safely; use the planner grammar"
    if isinstance(decision, FreeText):
        if has_previews(question):
            return "its dialog shows previews and takes no typed answer"
        return _text_refusal(decision.text)
    labels = [_bare(recorded_label(option.label)) for option in question.options]
    if not all(labels) or len(set(labels)) < len(labels):
        return "counting keys tells options apart by their letters and digits, which these do not allow"
    if isinstance(decision, MultiSelect) and decision.text is not None:
        return _text_refusal(decision.text)
    return None if chosen_options(decision) else "counting keys cannot confirm that nothing was chosen"


def _text_refusal(text: str) -> str | None:
    if text in tuple("0123456789"):
        return "clients up to 2.1.71 take a text of one digit for the number of an option"
    return None if _key(text) else "the text has no letter or digit by which it could be read back"


@lru_cache(maxsize=2048)
def _key(text: str) -> str:
    """Return the letters, digits and punctuation of a text: what every client draws, however it wraps and decorates."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c)[0] in "LNP")


def _bare(text: str) -> str:
    """Return the key of an answer without the quoting that some clients give to items in a list."""
    return _key(text).replace('"', "").replace("\\", "")


def _drawn(text: str) -> tuple[str, ...]:
    """Return the keys of a text as clients draw it: whole, or cut if it is long; the longest first."""
    found = {_key(text), _key(cut(text)), _key(recorded_label(text))}
    return tuple(sorted(found, key=len, reverse=True))


class _Count:
    """One call of the planner."""

    def __init__(self, form: AskUserQuestionInput, decisions: Sequence[Decision], taken: Sequence[Taken]) -> None:
        self.form = form
        self.decisions = decisions
        self.taken = taken
        self.script = _script(form, decisions)

    def step(self, screen: Screen) -> Step:
        at = self.position()
        if at is None:
            return GiveUp("other keys were pressed than those that were counted")
        if at == len(self.script):
            return self.over(screen)
        key = self.script[at]
        if key.only_if_still_there and not self.shows(key.question, screen):
            # Left out: what comes next says whether its page is there.
            if at + 1 == len(self.script):
                return self.over(screen)
            key = self.script[at + 1]
        if not self.shows(key.question, screen):
            if isinstance(key.step, Press) and self.ends_in_text(at, screen):
                return key.step
            is_review = key.question == len(self.form.questions)
            what = "the review with every intended answer" if is_review else "the question with all its options"
            return Wait(f"{what} is not on screen")
        if self.taken and self.below(key.question, screen) == self.below(key.question, self.taken[-1].view.screen):
            return Wait(f"the client has not reacted to {self.taken[-1].step[0]!r} yet")
        if at and isinstance(self.script[at - 1].step, Paste) and not self.was_typed(key.question, screen):
            return Wait("the row for typed text holds more than the text")
        return key.step

    def position(self) -> int | None:
        """Return how many steps of the script are done; None if something else was done."""
        at = 0
        for taken in self.taken:
            if at < len(self.script) and self.script[at].only_if_still_there and not _same(taken, self.script[at]):
                at += 1
            if at >= len(self.script) or not _same(taken, self.script[at]):
                return None
            at += 1
        return at

    def over(self, screen: Screen) -> Step:
        """Return the end, once the last page has given way."""
        last, before = self.script[-1].question, self.taken[-1].view.screen
        if last == len(self.form.questions):
            # What the client says of an answered form may look like the review but for the rows to choose from.
            is_open = self.review(screen) is not None and self.review(screen) == self.review(before)
        else:
            is_open = self.page_start(last, screen) is not None
        if is_open or not any(screen.lines):
            return Wait("the dialog is still on screen")
        return Done("every key was pressed and the dialog has closed")

    def shows(self, question: int, screen: Screen) -> bool:
        if question == len(self.form.questions):
            return self.review(screen) is not None
        return self.page_start(question, screen) is not None

    def page_start(self, question: int, screen: Screen) -> int | None:
        """Return the line in which a question's page begins, the last time that it is on screen, or None."""
        asked = self.form.questions[question]
        parts = [_key(line) for line in screen.lines]
        text = "".join(parts)
        starts = list(itertools.accumulate(map(len, parts), initial=0))
        for place, end in _occurrences(text, _drawn(asked.question)):
            if _lists(text, end, asked):
                return bisect.bisect_right(starts, place) - 1
        return None

    def below(self, question: int, screen: Screen) -> tuple[str, ...]:
        """Return the part of the screen in which a key for this page shows its effect."""
        if question == len(self.form.questions):
            return screen.lines
        return screen.lines[self.page_start(question, screen) or 0 :]

    def was_typed(self, question: int, screen: Screen) -> bool:
        """Whether nothing but the pasted text came to the page, in the place of the empty field's own words."""
        step, before = self.taken[-1].step, self.taken[-1].view.screen
        if not isinstance(step, Paste):
            return True
        # A box that is ticked with the text may be ticked with a letter.
        then, now, text = (
            _BOX.sub("[]", _key("".join(part)))
            for part in (self.below(question, before), self.below(question, screen), step.text)
        )
        replaced = len(then) + len(text) - len(now)
        if replaced <= 0:
            return False
        common = next((at for at, (one, two) in enumerate(zip(then, now, strict=False)) if one != two), len(now))
        return any(
            now[at : at + len(text)] == text and now[at + len(text) :] == then[at + replaced :]
            for at in range(common + 1)
        )

    def ends_in_text(self, at: int, screen: Screen) -> bool:
        """Whether the question was scrolled away by a long text, whose end is on screen instead."""
        if not self.taken or not isinstance(self.taken[-1].step, Paste) or at == 0:
            return False
        text, before = _key(self.taken[-1].step.text), self.taken[-1].view.screen
        question = self.script[at].question
        field = f"{len(self.form.questions[question].options) + 1}."
        held = _key("".join(self.below(question, before)))
        empty = any(f"{field}{box}{_EMPTY_FIELD}" in held for box in ("", "[]"))
        return empty and len(text) > _END and text[-_END:] in _key("".join(screen.lines))

    def review(self, screen: Screen) -> str | None:
        """Return the bare text of the screen from the first question on, if all intended answers are in it."""
        if any(self.page_start(number, screen) is not None for number in range(len(self.form.questions))):
            return None
        text, ends = "", set()
        for line in screen.lines:
            text += _bare(line)
            ends.add(len(text))
        at, begin = 0, -1
        for question, decision in zip(self.form.questions, self.decisions, strict=True):
            wanted = tuple(_bare(each) for each in _drawn(question.question))
            # A tab's name or another answer may hold the question's words as well.
            for start, answer in sorted(_occurrences(text, wanted)):
                end = _answer_end(text, answer, question, decision) if start >= at else None
                if end in ends and text[end : end + 1] != ",":
                    at, begin = end, start if begin < 0 else begin
                    break
            else:
                return None
        return text[begin:]


def _same(taken: Taken, key: _Key) -> bool:
    return type(taken.step) is type(key.step) and taken.step[0] == key.step[0]


def _occurrences(text: str, wanted: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Return where each of these begins and ends in ``text``, from the last to the first."""
    end = len(text)
    while end > 0:
        places = [(text.rfind(each, 0, end), len(each)) for each in wanted]
        place, length = max(places)
        if place < 0:
            return
        yield place, place + length
        end = place + length - 1


def _lists(text: str, at: int, question: Question) -> bool:
    """Whether every option with its number follows in ``text`` from ``at`` on."""
    for number, option in enumerate(question.options, 1):
        labels = "|".join(map(re.escape, _drawn(option.label)))
        found = re.compile(rf"{number}\.(?:[\[(].?[\])])?(?:{labels})").search(text, at)
        if found is None:
            return False
        at = found.end()
    return True


def _answer_end(text: str, at: int, question: Question, decision: Decision) -> int | None:
    """Return where the intended answer ends that begins at ``at``; None if another one, or a longer one, does."""
    if isinstance(decision, FreeText):
        answers = [_bare(decision.text)]
    elif isinstance(decision, MultiSelect):
        items = [question.options[index].label for index in chosen_options(decision)]
        parts = [{_bare(recorded_label(item)), _bare(item)} for item in items]
        typed = [{_bare(decision.text)}] if decision.text is not None else []
        answers = [",".join(each) for each in itertools.product(*parts, *typed)]
    elif isinstance(decision, Select):
        label = question.options[decision.option_index].label
        answers = [_bare(recorded_label(label)), _bare(label)]
        others = {_bare(recorded_label(option.label)) for option in question.options} - set(answers)
        if any(len(other) > len(answers[0]) and text.startswith(other, at) for other in others):
            return None
    else:
        return None
    return next((at + len(each) for each in sorted(answers, key=len, reverse=True) if text.startswith(each, at)), None)
