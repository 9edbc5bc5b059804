"""What must hold, whatever happened: read from the events alone, not from hookrouter's documents."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from live.fleet_chaos.events import Answered, Asked, Events, Reported, Sent, Submitted, Told, Tried

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["breaches"]

_CONFIRMED, _UNKNOWN, _MISMATCH = "verified", "not_confirmed", "mismatch"
_QUEUED, _NOT_KNOWN = 0, 5
"""Exit codes of ``send``; the second one is also that of ``answer``."""
_BY_SIGNAL = 128
"""From here on, what a command was ended by."""


def breaches(events: Events) -> list[str]:
    """Return what went wrong, a line each."""
    return [*_questions(events), *_messages(events), *_items(events)]


def _questions(events: Events) -> Iterable[str]:
    answered, tried = defaultdict[str, list[Answered]](list), defaultdict[str, list[Tried]](list)
    for answer in events.of(Answered):
        answered[answer.question].append(answer)
    for attempt in events.of(Tried):
        tried[attempt.question].append(attempt)
    for asked in events.of(Asked):
        answers, attempts = answered[asked.question], tried[asked.question]
        about = f"{asked.question} of {asked.session}"
        if len(answers) != 1 or not answers[0].answer:
            yield f"{about}: answered {len([one for one in answers if one.answer])} times; tried: {attempts}"
            continue
        yield from (f"{about}: {fault}" for fault in _faults(answers[0], attempts))


def _faults(answer: Answered, attempts: Sequence[Tried]) -> Iterable[str]:
    for attempt in attempts:
        is_meant = attempt.meant == answer.answer
        if attempt.outcome == _CONFIRMED and not is_meant:
            yield f"{answer.answer!r} was recorded, and confirmed to whoever meant something else: {attempt}"
        if attempt.outcome == _MISMATCH and is_meant:
            yield f"what was recorded is what was meant, and a mismatch was told: {attempt}"
    if answer.by_person:
        return
    meant = [attempt for attempt in attempts if attempt.meant == answer.answer]
    if not meant:
        yield f"{answer.answer!r} was recorded, which nobody meant: {attempts}"
    elif not any(attempt.outcome == _CONFIRMED or _is_open(attempt) for attempt in meant):
        yield f"{answer.answer!r} was recorded, and whoever meant it was told that nothing came of it: {meant}"


def _is_open(attempt: Tried) -> bool:
    """Whether what became of it was left open, as it is of one that was ended by a signal."""
    return attempt.outcome == _UNKNOWN or attempt.code == _NOT_KNOWN or not 0 <= attempt.code < _BY_SIGNAL


def _messages(events: Events) -> Iterable[str]:
    ids, order = defaultdict[str, set[str]](set), defaultdict[str, list[str]](list)
    for told in events.of(Told):
        if told.kind != "question":
            continue
        if not ids[told.question]:
            order[told.session].append(told.question)
        ids[told.question].add(told.message)
    asked = defaultdict[str, list[str]](list)
    # What is answered before its message went out needs none. Half of the agents answer nothing without it, so they
    # see one that is lost.
    answered = {one.question for one in events.of(Answered) if one.answer and not one.by_person}
    for one in events.of(Asked):
        asked[one.session].append(one.question)
        if len(ids[one.question]) != 1 and not (one.question in answered and not ids[one.question]):
            yield f"{one.question} of {one.session}: its message came under {len(ids[one.question])} ids"
    for session, questions in asked.items():
        came = [question for question in order[session] if question in questions]
        if came != [question for question in questions if question in came]:
            yield f"{session}: messages came out of order: asked {questions}, told {came}"


def _items(events: Events) -> Iterable[str]:
    submitted = defaultdict[str, list[str]](list)
    for one in events.of(Submitted):
        submitted[one.session].append(one.text)
    reported = {(one.session, one.text): one.state for one in events.of(Reported)}
    sent = defaultdict[str, list[str]](list)
    for item in events.of(Sent):
        sent[item.session].append(item.text)
        times = submitted[item.session].count(item.text)
        about = f"{item.text!r} for {item.session}"
        if times > 1:
            yield f"{about}: submitted {times} times"
        elif times and item.code not in (_QUEUED, _NOT_KNOWN):
            yield f"{about}: submitted, and its sender was told that it would not be ({item.code}: {item.said})"
        elif not times and item.code == _QUEUED and (item.session, item.text) not in reported:
            yield f"{about}: queued, and neither submitted nor reported"
    for session, texts in submitted.items():
        known = [text for text in dict.fromkeys(texts) if text in sent[session]]
        if known != [text for text in sent[session] if text in known]:
            yield f"{session}: items were submitted out of order: {texts}"
        unknown = Counter(text for text in texts if text not in sent[session])
        yield from (f"{session}: {text!r} was submitted, which nobody sent" for text in unknown)
