"""A person at a terminal: which question they mean, on what kind of screen, and what they decide."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.cli.dialogs.person.menu import Menu
from hookrouter.cli.dialogs.person.plain import Gone, Left
from hookrouter.cli.dialogs.person.view import FormView, described
from hookrouter.cli.terminal import is_attended
from hookrouter.dialogs import documents
from hookrouter.dialogs.decisions import DecisionError, check_decisions
from hookrouter.dialogs.messages.formatting import one_line
from hookrouter.dialogs.messages.words import read_words
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import now, seconds
from hookrouter.util.text import duration, printable
from hookrouter.util.text_width import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["Terminal", "choose", "from_dialog", "from_words"]

Decision = dict[str, Any]

_LONGEST = 120
"""The columns of a question's text in the list of those that wait."""


class Terminal(NamedTuple):
    """What the command's standard streams are."""

    can_ask: bool
    """Whether a person reads and types there."""
    has_screen: bool
    """Whether a form can be drawn on the whole of it."""
    has_colour: bool = True

    @classmethod
    def here(cls, environ: Mapping[str, str], plain: bool | None = None) -> Terminal:
        """Look at the streams of this process; ``plain`` is what the command line says, None if it says nothing."""
        can_ask = is_attended()
        has_colour = not environ.get("NO_COLOR")
        is_dumb = environ.get("TERM", "") in ("", "dumb")
        wanted = has_colour if plain is None else not plain
        has_screen = can_ask and sys.stdout.isatty() and wanted and not is_dumb and _has_library()
        return cls(can_ask, has_screen, has_colour)


def _has_library() -> bool:
    from importlib.util import find_spec

    return find_spec("prompt_toolkit") is not None


def choose(terminal: Terminal, found: Sequence[Dialog]) -> Dialog:
    """Let a person choose one of several waiting questions. Raises Left."""
    entries = tuple(_entry(question) for question in found)
    if terminal.has_screen:
        from hookrouter.cli.dialogs.person.screen import show

        menu, _ = show(Menu(entries), has_colour=terminal.has_colour)
        if menu.end == "leave":
            raise Left
        return found[menu.row]
    lines = ["Several questions wait:"]
    for number, entry in enumerate(entries, 1):
        lines += [f"  {number}  {entry[0]}", *(f"     {line}" for line in entry[1:])]
    _say("\n".join(lines))
    while True:
        try:
            line = _read(f"Which one? 1 to {len(found)}, or Enter to leave: ").strip()
        except (EOFError, KeyboardInterrupt):
            raise Left from None
        if not line or line == "/leave":
            raise Left
        if line.isascii() and line.isdecimal() and 1 <= int(line) <= len(found):
            return found[int(line) - 1]


def _entry(question: Dialog) -> tuple[str, ...]:
    """Return the lines by which a person knows a waiting question."""
    age = duration(max(0.0, now() - (seconds(question.saved_at) or now())))
    texts = [shortened(" ".join(printable(form["question"]).split()), _LONGEST) for form in question.questions]
    return (f"{printable(question.session)}, asked {age} ago, in {printable(question.cwd)}", *texts)


def from_dialog(
    terminal: Terminal, store: DocumentStore, question: Dialog, form: AskUserQuestionInput
) -> list[Decision]:
    """Let a person fill in a form; return the decisions in their JSON form. Raises Left, or Gone if it is over."""

    def is_over() -> str:
        try:
            is_open = documents.is_open(store, question.session, question.tool_use_id)
        except StoreError as error:
            return str(error)
        return "" if is_open else "the question has ended: somebody answered or closed it meanwhile"

    if not terminal.has_screen:
        from hookrouter.cli.dialogs.person import plain

        return plain.ask(form, question.session, read=_read, say=_say, is_over=is_over)
    from hookrouter.cli.dialogs.person import form as model
    from hookrouter.cli.dialogs.person.screen import show

    view = FormView(model.begin(form), question.session)
    view, over = show(view, has_colour=terminal.has_colour, is_over=is_over)
    decisions = model.decisions(view.state) if view.end == model.SEND else None
    if over:
        raise Gone(over)
    if decisions is None:
        raise Left
    return decisions


def from_words(
    terminal: Terminal,
    words: Sequence[str],
    form: AskUserQuestionInput,
    *,
    as_text: bool,
    say: Callable[[str], None],
    takes_values: bool = False,
) -> list[Decision]:
    """Return what the words of a command line mean, and say it. Raises DecisionError, or Left if they are taken back.

    Words that name no option are asked about on a terminal, and refused without one; but where the dialog
    ``takes_values`` they are these.
    """
    reading = read_words(words, form, as_text=as_text)
    check_decisions(reading.decisions, form)
    tell(reading.decisions, form, say)
    if takes_values:
        return reading.decisions
    if reading.own and not terminal.can_ask:
        shown = ", ".join(f'"{printable(text)[:80]}"' for text in reading.own)
        raise DecisionError(
            [f"{shown} is the label or the beginning of no option; to send it as your own words, add --text"]
        )
    for text in reading.own:
        if not _is_yes(f'"{printable(text)[:200]}" is not an option. Send it as your own words? y or n: '):
            raise Left
    return reading.decisions


def tell(decisions: Sequence[Decision], form: AskUserQuestionInput, say: Callable[[str], None]) -> None:
    """Say what will be sent."""
    for decision, question in zip(decisions, form.questions, strict=False):
        say(printable(one_line(question.question)))
        for line in described(decision, question):
            say(printable(f"  -> {line}"))


def _is_yes(prompt: str) -> bool:
    try:
        return _read(prompt).strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False


def _read(prompt: str) -> str:
    stream = sys.stdout if sys.stdout.isatty() else sys.stderr
    stream.write(prompt)
    stream.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _say(text: str) -> None:
    stream = sys.stdout if sys.stdout.isatty() else sys.stderr
    stream.write(f"{text}\n")
    stream.flush()
