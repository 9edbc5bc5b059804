"""All that is known of each session: what it does, its context, its queue, its pause, its agent.

Three sources are put together: the records of hooks, the client's registry, and the documents of open dialogs;
:mod:`hookrouter.sessions.states` weighs them. A session that only one of them knows is there as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering.locating import locate
from hookrouter.dialogs import documents as dialogs
from hookrouter.dialogs.answers.choosing import not_over
from hookrouter.messaging.pauses import pauses
from hookrouter.queue.documents import Queue, list_queues
from hookrouter.sessions.records import BUSY, GONE, LIMITED, STOPPED, SessionRecord, is_client_gone, list_records
from hookrouter.sessions.running_clients import process_environ, running_clients
from hookrouter.sessions.states import OpenDialog, SessionState, weigh
from hookrouter.sessions.usage import ContextUsed, context_used
from hookrouter.storage.journal import session_name
from hookrouter.util.claude_process import process_space
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hookrouter.context import Services
    from hookrouter.messaging.pauses import Pause
    from hookrouter.sessions.running_clients import RunningClient
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.terminals import TerminalAddress

    FindClients = Callable[[Services, Iterable[SessionRecord]], list[RunningClient]]

__all__ = ["GONE_SHOWN_SECONDS", "SessionView", "overview", "overview_elsewhere"]

GONE_SHOWN_SECONDS = 3600.0
"""How long a session is listed whose client has ended."""


class SessionView(NamedTuple):
    """One session."""

    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of it; empty if no client has been seen."""
    state: SessionState
    """What it does."""
    client_pid: int
    """The client's process id; 0 if it is not known."""
    terminal: TerminalAddress | None
    """Where it is drawn; None outside every known terminal."""
    cwd: str
    """Its working folder; empty if it is not known."""
    permission_mode: str
    """The permission mode of the last event that said one."""
    model: str
    """The model, with the mark of its larger window if a hook has said that; empty if nothing has said it."""
    context: ContextUsed | None
    """How much of its context is used; None if that is not known."""
    queue: Queue
    """What waits to be submitted."""
    pause: Pause | None
    """The pause that holds for it."""
    agent: str
    """The id of the agent that manages it; empty if none does."""
    last_message: str
    """Claude's last message."""
    background: tuple[str, ...] = ()
    """What went on in the background when the last turn ended."""
    error: str = ""
    """What kind of error the last turn ended in, if it has stopped or is limited; else empty."""

    @property
    def is_gone(self) -> bool:
        """Whether no client runs in it."""
        return self.state.state == GONE


def overview(services: Services, *, every: bool = False, with_context: bool = True) -> list[SessionView]:
    """Return all sessions by name. Raises StoreError.

    Those whose client ended more than :data:`GONE_SHOWN_SECONDS` ago, and that have nothing in their queue, are left
    out unless ``every`` is true. Without ``with_context`` no transcript is read for the context and model.
    """
    one = _Overview(services, services.store, _clients, with_context=with_context)
    return _shown(one, every=every)


def overview_elsewhere(services: Services, store: DocumentStore, *, every: bool = False) -> list[SessionView]:
    """Return the sessions of another machine, of which there are its documents alone. Raises StoreError.

    Its clients, transcripts and configuration are not here: no context is known, and no agent.
    """
    found = _shown(_Overview(services, store, lambda *_: [], with_context=False), every=every)
    return [view._replace(agent="") for view in found]


def _shown(one: _Overview, *, every: bool) -> list[SessionView]:
    found = one.views()
    earliest = iso(now() - GONE_SHOWN_SECONDS)
    shown = (
        view
        for view, known_at in found
        if every or not view.is_gone or known_at >= earliest or view.queue.items or view.queue.hold
    )
    return sorted(shown, key=lambda view: (view.session, view.client_pid))


class _Overview:
    """One look at everything."""

    def __init__(self, services: Services, store: DocumentStore, clients: FindClients, *, with_context: bool) -> None:
        self._services = services
        self._with_context = with_context
        self._dialogs = not_over(dialogs.list_questions(store))
        self._queues = {queue.session: queue for queue in list_queues(store)}
        self._pauses = pauses(store)
        self._records = {record.session: record for record in list_records(store)}
        for question in self._dialogs:
            # Hooks of before this plugin was there, or of a home where it is switched off.
            self._records.setdefault(question.session, _as_record(question))
        self._clients = clients(services, self._records.values())

    def views(self) -> Iterator[tuple[SessionView, str]]:
        """Return each session, and when something was heard of it last."""
        left = {client.pid: client for client in self._clients}
        names = set()
        unseen = []
        for record in self._records.values():
            client = _client_of(record, left.values())
            if client is None:
                unseen.append(record)
                continue
            del left[client.pid]
            names.add(record.session)
            yield self._view(record.session, record, client), record.since
        for client in left.values():
            environ = process_environ(client.pid)
            terminal, _ = locate(self._services, environ)
            name = session_name(client.session_id) if terminal is None else terminal.session
            names.add(name)
            yield self._view(name, None, client, terminal), ""
        for record in unseen:
            # Another client, of which no hook has told, may have taken its place.
            if record.session not in names:
                names.add(record.session)
                yield self._view(record.session, record, None), record.since
        for name in self._queues:
            if name not in names:
                yield self._view(name, None, None), ""

    def _view(
        self,
        name: str,
        record: SessionRecord | None,
        client: RunningClient | None,
        terminal: TerminalAddress | None = None,
    ) -> SessionView:
        is_gone = client is None and (record is None or is_client_gone(record))
        open_dialogs = [OpenDialog(one.kind, one.saved_at) for one in self._dialogs if one.session == name]
        state = weigh(record, client, open_dialogs, is_gone=is_gone, at=now())
        known = record or SessionRecord(name, "", "", "", terminal=terminal)
        cwd = known.cwd or (client.folder if client is not None else "")
        agent = self._services.config.agent_for(name, cwd)
        used = context_used(known.transcript_path, known.model) if self._with_context else None
        return SessionView(
            session=name,
            session_id=client.session_id if client is not None else known.session_id,
            state=state,
            client_pid=client.pid if client is not None else known.client_pid,
            terminal=known.terminal,
            cwd=cwd,
            permission_mode=known.permission_mode,
            model=_model(known.model, used),
            context=used,
            queue=self._queues.get(name, Queue(name)),
            pause=next((pause for pause in self._pauses if pause.session in (None, name)), None),
            agent="" if agent is None else agent.id,
            last_message=known.last_message,
            background=known.background,
            error=known.error if state.state in (LIMITED, STOPPED) else "",
        )


def _clients(services: Services, records: Iterable[SessionRecord]) -> list[RunningClient]:
    """Return the clients that run: those of this user's registry, and of others' that hooks have told of."""
    found = {client.pid: client for client in running_clients(services.environ)}
    space = process_space()
    for record in records:
        pid = record.client_pid
        if pid > 0 and record.client_host == space and pid not in found and not is_client_gone(record):
            environ = process_environ(pid)
            found |= {client.pid: client for client in running_clients(environ) if client.pid == pid}
    return list(found.values())


def _client_of(record: SessionRecord, clients: Iterable[RunningClient]) -> RunningClient | None:
    """Return the client that runs a session: the one that hooks have told of, or one that has resumed it."""
    if record.client_pid > 0 and record.client_host == process_space():
        for client in clients:
            if client.pid == record.client_pid:
                return client
    return next((client for client in clients if client.session_id and client.session_id == record.session_id), None)


def _as_record(question: dialogs.Dialog) -> SessionRecord:
    return SessionRecord(
        session=question.session,
        session_id=question.session_id,
        state=BUSY,
        since=question.saved_at,
        client_pid=question.client_pid,
        client_host=question.client_host,
        terminal=question.terminal,
        cwd=question.cwd,
        transcript_path=question.transcript_path,
        permission_mode=question.permission_mode,
    )


def _model(told: str, used: ContextUsed | None) -> str:
    """Return what the transcript calls the model, or what a hook has, if that says more of the same one."""
    answered = "" if used is None else used.model
    return told if told.startswith(answered) else answered
