"""Which session a command about queues means."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.answers.choosing import AUTO, session_names
from hookrouter.queue.names import called_now, present_name
from hookrouter.queue.overview import overview
from hookrouter.sessions.records import read_record
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from hookrouter.cli.application import Application
    from hookrouter.queue.overview import SessionView

__all__ = ["Chosen", "choose"]


class Chosen(NamedTuple):
    """The session that is meant, or why none is."""

    session: str
    """Its name; empty if none is meant."""
    reason: str = ""
    """Why none is, in one sentence."""
    view: SessionView | None = None
    """What is known of it; None if that is its name alone."""
    candidates: tuple[str, ...] = ()
    """The sessions of which one has to be named, if several could be meant."""
    others: tuple[SessionView, ...] = ()
    """What else runs under this name: a second client in the same terminal session."""
    called: str = ""
    """What the terminal session of its client is called now, if that is another name."""


def choose(app: Application, session: str, *, any_session: bool = False) -> Chosen:
    """Return the session of this name; with ``any_session``, or ``auto``, the one that has a client.

    ``auto`` is a name like any other where a session is called so. Raises StoreError.
    """
    views = overview(app, every=True, with_context=False)
    names = {view.session for view in views}
    if any_session or (session == AUTO and AUTO not in names | session_names(app)):
        return _only(views)
    record = read_record(app.store, session)
    # Of several clients the one that hooks tell of has the queue.
    own = 0 if record is None else record.client_pid
    found = [view for view in views if view.session == session]
    found.sort(key=lambda view: (view.is_gone, view.client_pid != own))
    if not found and (name := present_name(app, session)):
        return Chosen("", f"no session {session} is there any more: it is called {name} now", candidates=(name,))
    if found or session in session_names(app):
        others = tuple(view for view in found[1:] if not view.is_gone)
        called = "" if record is None else called_now(app, record)
        if called in ("", session):
            return Chosen(session, view=found[0] if found else None, others=others)
        if others:
            return Chosen("", _taken_over(session, found[0], called, others))
        return Chosen(session, view=found[0], called=called)
    running = sorted({view.session for view in views if not view.is_gone})
    hint = did_you_mean(session, sorted(names | session_names(app)))
    known = hint or (f"known are {', '.join(running)}" if running else "")
    return Chosen("", f"no session {session} is known{f'; {known}' if known else ''}")


def _taken_over(session: str, view: SessionView, called: str, others: tuple[SessionView, ...]) -> str:
    processes = ", ".join(str(one.client_pid or "unknown") for one in others)
    return (
        f"session {session} is that of process {processes} now, of which no hook has told yet; the terminal session of "
        f"process {view.client_pid or 'unknown'}, which has the queue of this name, is called {called} now"
    )


def _only(views: list[SessionView]) -> Chosen:
    running = {view.session: view for view in views if not view.is_gone}
    if len(running) == 1:
        ((name, view),) = running.items()
        return Chosen(name, view=view)
    if not running:
        return Chosen("", "no session has a client that runs")
    names = tuple(running)
    return Chosen("", f"{len(names)} sessions have a client: say which with --session: {', '.join(names)}", None, names)
