"""Waits until it is known how a question ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import End, verdict_of
from hookrouter.dialogs.stories.story import Stories, shown_id
from hookrouter.dialogs.verdicts import read_verdict, watch_verdict
from hookrouter.util.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.verdicts import Verdict

__all__ = ["Awaiting"]

_LOOK_SECONDS = 0.5
"""How often to look into the journal for the end of a question that has gone without a verdict."""


_SHOWN_SECONDS = 0.03
"""The same for what the transcript alone shows."""


class Awaiting:
    """The verdict on one question, from now on."""

    def __init__(self, app: Services, question: Dialog) -> None:
        """Nothing is read yet."""
        self._app = app
        self._question = question
        self._started = now()

    def wait(self, patience: float, shown: Callable[[], Verdict | None] | None = None) -> Verdict | None:
        """Wait until it is known how the question ended; None if that takes longer than ``patience`` seconds.

        ``shown`` looks at what no document tells.
        """
        pause = _LOOK_SECONDS if shown is None else _SHOWN_SECONDS
        store, deadline = self._app.store, time.monotonic() + patience
        with watch_verdict(store, self._question) as changes:
            while (verdict := self.verdict() or (shown and shown())) is None:
                if (left := deadline - time.monotonic()) <= 0:
                    break
                changes.wait(min(left, pause))
        return verdict

    def verdict(self) -> Verdict | None:
        """Return how the question ended; from the journal if the hook that closed it could not write a verdict."""
        verdict = read_verdict(self._app.store, self._question)
        return self._journalled() if verdict is None and not self._is_open() else verdict

    def _is_open(self) -> bool:
        return documents.is_open(self._app.store, self._question.session, self._question.tool_use_id)

    def _journalled(self) -> Verdict | None:
        stories, question = Stories(), self._question
        for record in self._app.journal.records(question.session_id, self._started - 1):
            if record.get("event") != "answer":
                stories.add(record)
        story = stories.told().get((question.session_id, shown_id(question.tool_use_id)))
        if story is None or story["outcome"] is None:
            return None
        compared = {"questions": story["questions"]} if story["verified"] is not None else None
        return verdict_of(question, End(story["outcome"], story["reason"]))._replace(verification=compared)
