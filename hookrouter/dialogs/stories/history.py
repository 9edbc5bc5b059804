"""What has become of Claude's questions, as the journal's records and the question's own documents tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents
from hookrouter.dialogs.stories.story import OPEN, UNKNOWN, WORDS, Stories
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.util.clock import seconds

if TYPE_CHECKING:
    from hookrouter.dialogs.stories.story import Story
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
    ``limit`` all but the last ones. Each has:

    - ``kind``, ``session``, ``session_id``, ``tool_use_id``, ``agent``; ``rule``: the rule of ``[[approvals.rules]]``
      that gave it to somebody (empty if none is known); ``asked_at`` and ``ended_at`` (ISO 8601, or None), and the
      ``seconds`` between the two (None if either is missing, or the clock was set back);
    - ``outcome``: ``verified``, ``mismatch``, ``unverified`` (recorded, but not compared), ``answered_by_person``,
      ``chat``, ``unanswered``, ``open`` or ``unknown``; ``reason``; ``by``: ``agent``, ``person``, ``nobody``, or None
      if it is open or unknown; ``who``: the login name of a person who used ``hookrouter answer``, else empty;
      ``channel`` (None if nobody used ``hookrouter answer``) and ``verified`` (None if nothing was compared);
    - ``missed``: whether it was asked while the session was paused; ``reminders`` and ``escalated``: how often the
      agent was reminded, and whether somebody else was asked;
    - ``questions``: for each ``header`` and ``question`` (cut if long) and, if known, ``intended``, ``recorded``
      and ``result``; ``chat``: what was said instead, or None;
    - ``attempts``: what each ``hookrouter answer`` came to: ``at``, ``outcome``, ``channel``, ``reason``, and
      ``steps``: what was done, such as each key that was pressed, with why.

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
