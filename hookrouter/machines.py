"""The machines that share an engine of documents with this one, as everything but the fleet itself sees them.

:meth:`hookrouter.context.Services.machines` returns them. Where nothing is shared there are none, and nobody need ask
before: :class:`Machines` as it stands is the answer of a machine that is alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hookrouter.storage.history import HistoryStore, StoryQuery
    from hookrouter.storage.interface import DocumentStore

__all__ = ["COMMANDS", "Done", "ErrandError", "Machines", "refusal"]

COMMANDS = (
    *("answer", "send", "queue", "pause", "resume", "questions", "sessions", "history"),
    *("allow", "deny", "approve", "revise"),
)
"""The commands that another machine may ask for: those by which agents and people answer and steer."""

_INTERNAL = ("queue", "deliver")
"""How the command line of a process begins that is no command for anybody."""
_PAGE = 200
"""How many stories the engine is asked for at once."""
_WATCH = "--watch"
"""The option by which a command never ends."""


def refusal(words: Sequence[str]) -> str:
    """Return why another machine may not be asked to run ``hookrouter WORDS...``; empty if it may."""
    if not words or words[0] not in COMMANDS or tuple(words[:2]) == _INTERNAL:
        return f"{' '.join(words)!r} is not a command for another machine; allowed: {', '.join(COMMANDS)}"
    if _WATCH in (words[: words.index("--")] if "--" in words else words):
        return f"{_WATCH}: {words[0]!r} would never end on another machine; without it, it shows what is there now"
    return ""


class ErrandError(StoreError):
    """An errand that was not carried out, or of which that is not known; the message says which."""

    def __init__(self, reason: str, *, may_have_run: bool) -> None:
        """``may_have_run`` is False if nothing was done."""
        super().__init__(reason)
        self.may_have_run = may_have_run


class Done(NamedTuple):
    """What came of a command."""

    code: int
    """Its exit code."""
    stdout: str
    """What it printed."""
    stderr: str
    """What it said beside that."""
    is_cut: bool = False
    """Whether it wrote more than is sent back, so that the end is missing."""


class Machines:
    """The machines of a fleet beside this one; as it stands, of a machine that is alone.

    Made without asking the engine; each method may open it, and then raises StoreError if it cannot be used.
    """

    here = ""
    """What this machine is called beside the others; empty if it shares nothing, or is not to ask them."""

    missing = ""
    """Why nothing is shared although ``[storage]`` names an engine; empty where that is as it should be."""

    def __init__(self, missing: str = "") -> None:
        """``missing`` is kept as it is."""
        self.missing = missing

    def open(self) -> None:
        """Open the engine if it is not open, so that one which cannot be had is told of first, and threads share it."""

    def names(self) -> list[str]:
        """Return their names, sorted."""
        return []

    def problems(self) -> list[str]:
        """Return what is wrong with the engine, or with this machine's name in it."""
        return [self.missing] if self.missing else []

    def is_there(self, machine: str) -> bool:  # noqa: ARG002 - there is none
        """Whether a machine's process is at work, so that it can be asked to do something."""
        return False

    def history(self) -> HistoryStore | None:
        """Return the history of all machines, this one too, if the engine keeps one; it holds until :meth:`close`."""
        return None

    def stories(
        self, session: str | None, since: float | None, limit: int, machine: str | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Return, of each other one whose history the engine keeps, the last ``limit`` stories, the oldest first.

        With ``machine``, of this one alone. ``since`` is in seconds since 1970; a ``limit`` of 0 means all of them.
        Empty if the engine keeps no history or cannot be used: then the machines themselves are asked, and that says
        what is wrong. Raises nothing.
        """
        from hookrouter.storage.history import StoryQuery

        found: dict[str, list[dict[str, Any]]] = {}
        try:
            history = self.history()
            for name in () if history is None else history.machines():
                if history is not None and name != self.here and machine in (None, name):
                    query = StoryQuery(session=session or "", since=since, machine=name)
                    found[name] = list(_newest(history, query, limit))[::-1]
        except Exception:  # noqa: BLE001 - an engine of a third party may raise anything
            return {}
        return found

    def store(self, machine: str) -> DocumentStore:
        """Return what stands in the engine of one, to be read."""
        raise StoreError(f"there is no machine {machine!r}: no machines share an engine here")

    def entries(self, kind: str) -> list[tuple[str, str, dict[str, object]]]:  # noqa: ARG002 - there is none
        """Return machine, name and document of all of one kind that stand in the engine of them."""
        return []

    def changed(self, kinds: Collection[str], since: object | None) -> tuple[object, set[str]]:  # noqa: ARG002 - as above
        """Return where the changes of them are by now, and which of these kinds have changed ``since`` then.

        ``since`` is what the last call returned first; None asks for the place alone.
        """
        return None, set()

    def run(self, machine: str, words: Sequence[str], given: str = "", *, person: str = "") -> Done:  # noqa: ARG002 - as above
        """Have a machine run ``hookrouter WORDS...``; ``person`` is at this terminal. Raises ErrandError too.

        ``given`` is what it gets on stdin.
        """
        why = f"there is no machine {machine!r}: no machines share an engine here; nothing was done"
        raise ErrandError(why, may_have_run=False)

    def returned(self) -> None:
        """Wait a moment until it is known what others have sent of what waits in this machine's outbox.

        They may have while this machine was gone; by the end of the call they no longer wait in it. An engine that does
        not answer holds nothing up for longer than seconds. Raises OSError too.
        """

    def close(self) -> None:
        """Let go of the engine; the next call opens it anew. Raises nothing."""


def _newest(history: HistoryStore, query: StoryQuery, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the newest ``limit`` stories that fit, all of them if it is 0, newest first. Raises StoreError."""
    after, left = "", limit
    while True:
        page = history.stories(query, min(left, _PAGE) if limit else _PAGE, after)
        yield from (dict(kept.story) for kept in page.stories)
        left -= len(page.stories)
        after = page.after
        if not after or (limit and left <= 0):
            return
