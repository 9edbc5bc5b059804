"""What has become of Claude's questions, as the journal's records and the question's own documents tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents
from hookrouter.dialogs.stories.story import OPEN, UNKNOWN, WORDS, Stories
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.util.clock import seconds

if TYPE_CHECKING:
    from hookrouter.dialogs.columns import Story
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.storage.journal import Journal

__all__ = ["history"]


def history(
    journal: Journal,
    store: DocumentStore,
    *,
    session: str | None = None,
    since: float | None = None,
    limit: int | None = None,
) -> list[Story]:
    """Return what is known of each question, in the order in which they were asked.

    ``session`` leaves out other sessions, ``since`` what was asked and over before this time in seconds since 1970,
    ``limit`` all but the last ones. What each has is in :data:`hookrouter.dialogs.columns.COLUMNS`; its ``outcome`` is
    never None. Times are ISO 8601. Of ``questions``, ``header`` and ``question`` are cut if they are long, and the rest
    is there if it is known; ``seconds`` is None if the clock was set back, too.

    Raises StoreError.
    """
    stories = Stories()
    for record in journal.search(WORDS, since):
        stories.add(record)
    # Before the verdicts: a question that is closed meanwhile is seen open, over, or both, but never neither.
    for question in documents.list_questions(store):
        stories.add_question(question)
    for verdict in list_verdicts(store):
        stories.add_verdict(verdict)
    found = []
    for story in stories.told().values():
        story["outcome"] = story["outcome"] or UNKNOWN
        if session not in (None, story["session"]):
            continue
        if since is not None and story["outcome"] != OPEN:
            times = [seconds(story["asked_at"]), seconds(story["ended_at"])]
            if max((time for time in times if time is not None), default=0.0) < since:
                continue
        found.append(story)
    found.sort(key=lambda story: story["asked_at"] or story["ended_at"] or "")
    return found if limit is None else found[max(len(found) - limit, 0) :]
