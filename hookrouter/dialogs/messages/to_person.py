"""Builds what a person reads about a question: the question, the options, and what to type. No JSON, and no ids.

Whatever Claude or a user wrote stands in block quotes, as in :mod:`hookrouter.dialogs.messages.formatting`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.messages.formatting import (
    Surroundings,
    bounded,
    cut,
    cut_parts,
    option_line,
    preview,
    start_command,
    who_asks,
)
from hookrouter.dialogs.messages.words import example_numbers, is_own, line_to_type
from hookrouter.tools import AskUserQuestionInput
from hookrouter.util.clock import local
from hookrouter.util.markdown import code, quoted
from hookrouter.util.text import duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.linking import Link

__all__ = ["escalation_lead", "person_message", "person_reminder"]

_PROMPT_BYTES = 300
_WORDS_BYTES = 600
_OWN_WORDS = "in your own words"
_AT_TERMINAL = "Answer at the session's own terminal (options count from 1 there)"


def person_message(
    question: Dialog,
    argv: Sequence[str],
    environ: Mapping[str, str],
    others: Sequence[Dialog] = (),
    *,
    surroundings: Surroundings | None = None,
    lead: Sequence[str] = (),
    link: Link | None = None,
) -> str:
    """Return the whole message about an open question. Arguments: as :func:`question_message` has them.

    ``link`` is where it is answered in a browser.
    """
    around = surroundings or Surroundings(cwd=question.cwd)
    count = len(question.questions)
    parts = list(lead) or [f"# {who_asks(question)} in session {code(question.session)}"]
    # First: a service may cut the text.
    parts += _link_parts(link)
    for number, form in enumerate(bounded(question.questions), 1):
        parts += _question_parts(form, number, count)
    parts += cut_parts(question, argv, environ)
    parts += _answer_parts(question, argv, environ, others)
    # What came before stands behind: whoever knows it need not scroll to the question.
    prompt = cut(around.last_prompt, _PROMPT_BYTES, lines=True)
    words = cut(around.last_words, _WORDS_BYTES, lines=True, end=True)
    for title, text in (("Claude's last words:", words), ("Last prompt:", prompt)):
        parts += [title, quoted(text)] if text else []
    place = [f"Folder {code(around.cwd)}" if around.cwd else ""]
    place.append(f"branch {code(around.branch)}" if around.branch else "")
    return "\n\n".join(filter(None, [*parts, ", ".join(filter(None, place))])) + "\n"


def person_reminder(
    question: Dialog,
    argv: Sequence[str],
    environ: Mapping[str, str],
    waited: float,
    number: int,
    count: int,
    link: Link | None = None,
) -> str:
    """Return the reminder of a question that was sent before; ``waited`` is seconds."""
    parts = [
        f"# Reminder {number} of {count}: Claude has waited for {duration(waited)}",
        f"The question of session {code(question.session)} that was sent to you before still waits.",
        *_link_parts(link),
    ]
    # Whoever looks at a phone has not the first message at hand.
    forms = bounded(question.questions)
    parts += [part for number, form in enumerate(forms, 1) for part in _question_parts(form, number, len(forms))]
    parts += cut_parts(question, argv, environ)
    return "\n\n".join([*parts, *_answer_parts(question, argv, environ, ())]) + "\n"


def escalation_lead(question: Dialog, waited: float) -> list[str]:
    """Return how a message begins about a question that its agent has left unanswered for so many seconds.

    One that is reserved for a person was never the agent's.
    """
    if question.is_reserved:
        return [
            f"# A person must decide: session {code(question.session)}",
            f"Your rule {code(str(question.request.get('rule')))} leaves this to a person, and no agent decides it.",
        ]
    return [
        f"# Nobody has answered for {duration(waited)}: session {code(question.session)}",
        f"The agent {code(question.agent)} was asked and has not answered. You can answer instead.",
    ]


def _link_parts(link: Link | None) -> list[str]:
    if link is None:
        return []
    return [f"Answer here: {link.url} (valid until {local(link.until, to='minutes')})"]


def _question_parts(form: Mapping[str, Any], number: int, count: int) -> list[str]:
    header = form.get("header")
    named = f"{header}\n" if isinstance(header, str) and header.strip() else ""
    parts = [f"## Question {number} of {count}"] if count > 1 else []
    parts.append(quoted(f"{named}{form['question']}"))
    several = bool(form.get("multiSelect"))
    parts.append("Options (choose any number):" if several else "Options:")
    parts.append(quoted("\n".join(option_line(index, option) for index, option in enumerate(form["options"]))))
    for index, option in enumerate(form["options"]):
        shown = preview(option)
        parts += [f"Preview of option {index}:", quoted(shown)] if shown is not None else []
    return parts


def _answer_parts(
    question: Dialog, argv: Sequence[str], environ: Mapping[str, str], others: Sequence[Dialog]
) -> list[str]:
    """Return what to do: at the session's own terminal, or by a command line. Options count from 0, as shown."""

    def line(*groups: Sequence[str]) -> str:
        # If others are open too, the session's name would not say which of them is meant.
        return line_to_type(question, is_alone=not others, start=start_command(argv, environ), groups=groups)

    if len(question.questions) > 1:
        told = f"{_AT_TERMINAL}, or by this command on its machine, which asks you step by step:"
        return [told, _indented([line()])]
    [form] = AskUserQuestionInput.from_json({"questions": list(question.questions)}).questions
    numbers = example_numbers(form)
    examples = [numbers, [_OWN_WORDS] if is_own([_OWN_WORDS], form) else []]
    lines = [line(words) for words in examples if words]
    chosen = f"the first, as an example, chooses {' and '.join(numbers)}; " if numbers else ""
    told = f"{_AT_TERMINAL}, or by a command on its machine ({chosen}the last asks you):"
    return [told, _indented([*lines, line()])]


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
