"""A form line by line, for terminals without a screen of their own, without colour, and for screen readers.

Nothing is drawn over: every line is written once and stays. Answers are the words of :mod:`words`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter.cli.dialogs.person.view import described
from hookrouter.dialogs.decisions import DecisionError, question_faults
from hookrouter.dialogs.messages.words import has_previews, read_group
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.tools import AskUserQuestionInput
    from hookrouter.tools.ask_user_question import Question

__all__ = ["Gone", "Left", "ask"]

_HELP = """\
  a number        chooses the option with this number
  numbers         0,2 choose several, if any number may be chosen; words of your own may follow
  a label         or its beginning
  other words     your own words, once you have said yes
  /text WORDS     your own words, even if they look like an option
  /chat WORDS     talk to Claude instead of answering
  /back           the question before this one; what you have entered is kept
  /leave          leave; nothing is sent"""

_QUOTED = re.compile(r'(?P<before>[^"]*)"(?P<words>[^"]+)"')

Decision = dict[str, Any]


class Left(HookrouterError):
    """The person does not want to answer now."""


class Gone(HookrouterError):
    """Somebody else has ended the question; the text says how."""


def ask(
    form: AskUserQuestionInput,
    session: str,
    *,
    read: Callable[[str], str],
    say: Callable[[str], None],
    is_over: Callable[[], str],
) -> list[Decision]:
    """Ask a person line by line until they send; return the decisions in their JSON form.

    ``read`` returns a line, shown its prompt, and raises EOFError at the end; ``is_over`` says why the question cannot
    be answered any more. Raises Left or Gone.
    """
    return _Talk(form, session, read, say, is_over).decisions()


class _Talk:
    def __init__(
        self,
        form: AskUserQuestionInput,
        session: str,
        read: Callable[[str], str],
        say: Callable[[str], None],
        is_over: Callable[[], str],
    ) -> None:
        self._form = form
        self._session = session
        self._read_line = read
        self._say = say
        self._is_over = is_over
        self._entered: list[Decision | None] = [None] * len(form.questions)
        self._chat = ""

    def decisions(self) -> list[Decision]:
        index = 0
        while True:
            while not self._chat and index < len(self._entered):
                index = self._ask_one(index)
            chosen = self._review()
            if chosen is None:
                return self._complete()
            index, self._chat = chosen, ""

    def _complete(self) -> list[Decision]:
        if self._chat:
            return [{"action": "chat", "text": self._chat}]
        return [decision for decision in self._entered if decision is not None]

    def _ask_one(self, index: int) -> int:
        """Ask a question; return the number of the one to go to, or that of questions for the review."""
        question, count = self._form.questions[index], len(self._entered)
        self._tell(index)
        while True:
            line = self._read(f"Answer {index + 1} of {count}: " if count > 1 else "Answer: ")
            command, _, rest = line.partition(" ")
            if command == "/back":
                return max(index - 1, 0)
            if command == "/help":
                self._say(_HELP)
            elif command == "/chat":
                if self._accepts({"action": "chat", "text": rest.strip()}, question):
                    self._chat = rest.strip()
                    return count
            elif command.startswith("/") and command != "/text":
                self._say(f"There is no {printable(command)}.\n{_HELP}")
            elif not line:
                if self._entered[index] is not None:
                    return index + 1
            elif (decision := self._decision(line, question)) is not None:
                self._entered[index] = decision
                self._tell_decision(decision, question)
                return index + 1

    def _decision(self, line: str, question: Question) -> Decision | None:
        """Return what a line means; None if it is refused, or taken back."""
        command, _, rest = line.partition(" ")
        own = None
        if command == "/text":
            action = {"action": "multi-select", "selectedIndices": []} if question.multi_select else {"action": "type"}
            decision: Decision = {**action, "text": rest.strip()}
        else:
            try:
                decision, own = read_group(_words(line), question, is_shown=True)
            except DecisionError as error:
                self._say("\n".join(printable(fault) for fault in error.faults))
                return None
        if not self._accepts(decision, question):
            return None
        if own is not None and not self._is_yes(
            f'"{printable(own)}" is not an option. Send it as your own words? y or n: '
        ):
            return None
        return decision

    def _accepts(self, decision: Decision, question: Question) -> bool:
        """Whether a decision fits; say why not if it does not."""
        faults = question_faults(decision, question)
        for fault in faults:
            self._say(printable(fault.replace('"text"', "the text").replace('"notes"', "the note")))
        return not faults

    def _tell(self, index: int) -> None:
        question, count = self._form.questions[index], len(self._entered)
        place = f"Question {index + 1} of {count}" if count > 1 else "Question"
        header = f" ({printable(question.header)})" if question.header else ""
        # Of several lines each is marked: one could read like an option, or like what hookrouter says itself.
        asked = _text(question.question).split("\n")
        lines = ["", f"{place}{header}, session {printable(self._session)}:"]
        lines += [f"| {line}" for line in asked] if len(asked) > 1 else asked
        for number, option in enumerate(question.options):
            lines.append(f"  {number}  {printable(option.label)}")
            lines += [f"     {line}" for line in _text(option.description).split("\n") if line]
            if option.preview:
                lines += [f"     | {line}" for line in _text(option.preview).split("\n")]
        lines.append(_way(question))
        if (kept := self._entered[index]) is not None:
            lines.append(f"Entered so far, Enter keeps it: {self._in_line(kept, question)}")
        self._say("\n".join(lines))

    def _tell_decision(self, decision: Decision, question: Question) -> None:
        self._say(f"  -> {self._in_line(decision, question)}")

    def _in_line(self, decision: Decision, question: Question) -> str:
        return printable("; ".join(described(decision, question)))

    def _review(self) -> int | None:
        """Show what will be sent; return the question to go back to, or None to send."""
        lines = ["", "This will be sent to Claude:"]
        if self._chat:
            lines.append(printable(f'  you decline the form and say "{self._chat}"'))
        for number, (decision, question) in enumerate(zip(self._entered, self._form.questions, strict=True), 1):
            if decision is not None and not self._chat:
                lines.append(f"  {number}. {_text(question.question).replace(chr(10), ' ')}")
                lines.append(f"     {self._in_line(decision, question)}")
        self._say("\n".join(lines))
        while True:
            line = self._read("Send it? y sends, the number of a question goes back to it, /leave leaves: ").lower()
            if line in ("y", "yes"):
                return None
            if line == "/back":
                return len(self._entered) - 1
            if line.isascii() and line.isdecimal() and 1 <= int(line) <= len(self._entered):
                return int(line) - 1

    def _is_yes(self, prompt: str) -> bool:
        return self._read(prompt).lower() in ("y", "yes")

    def _read(self, prompt: str) -> str:
        """Return a line. Raises Left or Gone."""
        if over := self._is_over():
            raise Gone(over)
        try:
            line = self._read_line(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            raise Left from None
        if over := self._is_over():
            raise Gone(over)
        if line == "/leave":
            raise Left
        return line


def _way(question: Question) -> str:
    if question.multi_select:
        return "Numbers such as 0,1 choose, your own words may follow; /help tells more."
    if has_previews(question):
        return "A number chooses, a note may follow; /help tells more."
    return "A number chooses, or type your own words; /help tells more."


def _words(line: str) -> list[str]:
    """Return the words of a line; those in double quotes at its end are one."""
    quoted = _QUOTED.fullmatch(line)
    if quoted is None:
        return line.split(" ")
    return [*quoted["before"].split(), quoted["words"]]


def _text(text: str) -> str:
    return printable(text, keep_newlines=True)
