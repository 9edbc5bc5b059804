"""What an engine has kept of the history of machines, for whoever shows it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from hookrouter.storage.history import StoryQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.context import Services
    from hookrouter.storage.history import HistoryStore

__all__ = ["all_kept", "kept_elsewhere"]

_PAGE = 200


def kept_elsewhere(
    services: Services, *, session: str | None, since: float | None, limit: int, machine: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return, of each other machine whose history the engine keeps, the last ``limit`` stories, the oldest first.

    With ``machine``, of this one alone. 0 is all of them. Empty if nothing is shared, or the engine keeps no history or
    cannot be used: then the machines themselves are asked, and that says what is wrong. Raises nothing.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        with closing(services.machines()) as others:
            history = others.history()
            for name in () if history is None else history.machines():
                if history is not None and name != others.here and machine in (None, name):
                    query = StoryQuery(session=session or "", since=since, machine=name)
                    found[name] = list(all_kept(history, query, limit))[::-1]
    except Exception:  # noqa: BLE001 - an engine of a third party may raise anything
        return {}
    return found


def all_kept(history: HistoryStore, query: StoryQuery, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the newest ``limit`` stories that fit, all of them if it is 0, newest first. Raises StoreError."""
    after, left = "", limit
    while True:
        page = history.stories(query, min(left, _PAGE) if limit else _PAGE, after)
        yield from (dict(kept.story) for kept in page.stories)
        left -= len(page.stories)
        after = page.after
        if not after or (limit and left <= 0):
            return
