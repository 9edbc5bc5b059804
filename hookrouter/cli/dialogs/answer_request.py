"""The command line of ``hookrouter answer`` as a value, whoever gives it: an agent's JSON, or a person's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.messages.words import is_json
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.cli.application import Application
    from hookrouter.dialogs.answers.answer import Decide
    from hookrouter.dialogs.answers.identity import Author
    from hookrouter.dialogs.answers.result import AnswerResult

__all__ = ["Request", "UsageError", "check_options"]


class UsageError(HookrouterError):
    """The command line cannot be used; the message says why."""


class Request(NamedTuple):
    """The command line of ``hookrouter answer``; see its ``--help``."""

    words: Sequence[str] = ()
    session: str = ""
    any_session: bool = False
    file: str | None = None
    tool_use_id: str | None = None
    expect: str | None = None
    channel: str | None = None
    wait: float = 10.0
    dry_run: bool = False
    as_json: bool = False
    author: str | None = None
    as_text: bool = False
    as_chat: bool = False
    plain: bool | None = None
    command: str = "answer"
    """The command that was typed: a short one has its own name in what it says."""

    @property
    def names_question(self) -> bool:
        """Whether an option says which question is meant."""
        return bool(self.session or self.tool_use_id or self.any_session)

    def options(self) -> list[str]:
        """Return the words of a command line that says the same, without the decisions."""
        pairs = (
            ("--session", self.session),
            ("--tool-use-id", self.tool_use_id),
            ("--expect", self.expect),
            ("--channel", self.channel),
            ("--as", self.author),
        )
        flags = (
            ("--any", self.any_session),
            ("--dry-run", self.dry_run),
            ("--text", self.as_text),
            ("--chat", self.as_chat),
            ("--json", self.as_json),
        )
        words = [f"{name}={value}" for name, value in pairs if value]
        return ["answer", *words, f"--wait={self.wait}", *(name for name, is_set in flags if is_set)]

    def answered(self, app: Application, decide: str | Decide, author: Author) -> AnswerResult:
        """Answer with these options."""
        return answer(
            app,
            self.session,
            decide,
            tool_use_id=self.tool_use_id,
            expect=self.expect,
            any_session=self.any_session,
            channel=self.channel,
            wait=self.wait,
            dry_run=self.dry_run,
            author=author,
        )

    @property
    def is_json(self) -> bool:
        """Whether the decisions are JSON, as an agent gives them, and no person's words."""
        if self.file is not None or self.as_text or self.as_chat:
            return self.file is not None
        return bool(self.words) and is_json(self.words[0])


def check_options(request: Request) -> None:
    """Refuse options that contradict each other, and an empty one that would check nothing. Raises UsageError."""
    if request.session and request.any_session:
        raise UsageError("give either --session or --any, not both")
    if request.expect is not None and not request.expect.strip():
        # Every question holds that: a variable that is not set would name one that the agent has not been told of.
        raise UsageError("--expect: found no text; allowed: words that the question must hold")
    if not 0 <= request.wait < float("inf"):
        raise UsageError("--wait: a number of seconds, 0 or more")
