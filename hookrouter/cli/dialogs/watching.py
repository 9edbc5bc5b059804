"""``hookrouter questions --watch``: says when a question opens and when it closes, until it is stopped."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from hookrouter.cli.dialogs.history import story_lines
from hookrouter.dialogs import documents
from hookrouter.dialogs.messages.formatting import one_line
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.stories.story import OPEN, UNKNOWN, shown_id
from hookrouter.util.clock import iso, local, seconds
from hookrouter.util.folder_watch import wait_while_read
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.cli.application import Application
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentWatch

__all__ = ["watch"]

LOOK_SECONDS = 60.0
"""How often to look although the system tells of no change; it may have lost one when very many came at once."""

RECORD_SECONDS = 3.0
"""How long to look for the end of a question that is gone without a verdict: in the journal, written a little later."""

_RECORD_LOOK = 0.1

_Key = tuple[str, str]


def watch(app: Application, entry: Callable[[Dialog], dict[str, Any]], session: str | None, *, as_json: bool) -> int:
    """Write a line for each question that opens and for each that closes, those that are open now first.

    ``entry`` makes what ``hookrouter questions --json`` shows of a question. Returns the exit code: 130 when it was
    interrupted, 0 when nobody reads stdout any more. Raises StoreError if the state folder cannot be read.
    """
    try:
        with app.store.watch(documents.QUESTION) as changes:
            _Watch(app, entry, session, as_json).follow(changes)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # What the interpreter still holds for stdout must not fail again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class _Watch:
    """What is open, and what has closed whose end is not known yet."""

    def __init__(
        self, app: Application, entry: Callable[[Dialog], dict[str, Any]], session: str | None, as_json: bool
    ) -> None:
        self._app = app
        self._entry = entry
        self._session = session
        self._as_json = as_json
        self._open: dict[_Key, Dialog] = {}
        self._closing: dict[_Key, tuple[Dialog, float]] = {}

    def follow(self, changes: DocumentWatch) -> None:
        """Go on until interrupted, or until nobody reads; then raises KeyboardInterrupt or BrokenPipeError."""
        while True:
            self._look()
            wait_while_read(changes, _RECORD_LOOK if self._closing else LOOK_SECONDS)

    def _look(self) -> None:
        found = {
            (question.session_id, question.tool_use_id): question
            for question in documents.list_questions(self._app.store)
            if self._session in (None, question.session)
        }
        for key, question in self._open.items():
            if key not in found:
                self._closing[key] = question, time.monotonic() + RECORD_SECONDS
        opened = [question for key, question in found.items() if key not in self._open]
        self._open = found
        for question in sorted(opened, key=lambda one: one.saved_at):
            self._say_opened(question)
        if self._closing:
            self._say_closed()

    def _say_opened(self, question: Dialog) -> None:
        shown = self._entry(question)
        if self._as_json:
            self._write({"event": "opened", "at": question.saved_at, **shown})
            return
        texts = " | ".join(one_line(form["question"]) for form in question.questions)
        kind = f" ({question.kind})" if question.kind != documents.FORM else ""
        missed = " (missed: the session is paused)" if question.missed else ""
        self._print(
            f"{local(question.saved_at)}  opened  {question.session}: {question.tool_use_id}{kind}{missed}  {texts}"
        )

    def _say_closed(self) -> None:
        """Say how questions ended whose records are there, or have not come in time."""
        since = min(seconds(question.saved_at) or 0.0 for question, _ in self._closing.values())
        stories = {
            (story["session_id"], story["tool_use_id"]): story
            for story in history(self._app.journal, self._app.store, since=since)
        }
        for key, (question, deadline) in list(self._closing.items()):
            story = stories.get((key[0], shown_id(key[1])))
            known = story is not None and story["outcome"] not in (OPEN, UNKNOWN)
            if not known and time.monotonic() < deadline:
                continue
            del self._closing[key]
            at = story["ended_at"] if story is not None and known else iso()
            told = {} if story is None else dict(story)
            if self._as_json:
                names = {"session": question.session, "session_id": key[0], "tool_use_id": key[1]}
                self._write({"event": "closed", "at": at, "outcome": UNKNOWN, **told, **names})
                continue
            self._print(f"{local(at or '')}  closed  {question.session}: {question.tool_use_id}")
            for line in story_lines(story) if story is not None else ["  it is not known how it ended"]:
                self._print(f"  {line}")

    def _write(self, event: dict[str, Any]) -> None:
        self._print(json.dumps(event))

    def _print(self, line: str) -> None:
        # Past the stream's buffer: an interrupt that comes while it is written out had the line written once more.
        data = f"{printable(line)}\n".encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
