"""What a hook implementation gets beside its event: the session it runs in, and the services of the core.

Everything is made on first use, because most hook runs need little of it: looking up the session's name starts a
program, and a document store opens a folder.
"""

from __future__ import annotations

import os

from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_error

TYPE_CHECKING = False

if not TYPE_CHECKING:
    # First, because the manual's reader of this file goes by the last of two imports.
    from hookrouter.util.lazy import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from functools import cached_property  # noqa: TC004 - at run time it is the one above
    from typing import Protocol, TypeVar, overload

    from hookrouter._plugins.registry import Plugins
    from hookrouter.config import Agent, Config
    from hookrouter.machines import Machines
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.storage.journal import Journal
    from hookrouter.terminals import TerminalAddress

    T = TypeVar("T")

    class Wiring(Protocol):
        """What knows agents and terminals, handed to the router by whoever starts it: :mod:`hookrouter._wiring`."""

        def outbox(self, services: Services) -> Outbox:
            """Return the messages of this home that are not yet delivered."""

        def locate_terminal(self, services: Services) -> tuple[TerminalAddress | None, str]:
            """Return the pane of this environment, None outside every terminal; and what kept it from being known.

            Both are empty outside every terminal. Warns of a terminal that fails if another one knows the pane.
            """

        def machines(self, services: Services) -> Machines:
            """Return the machines that share an engine with this one, which is not asked yet. Raises nothing."""

        def start_delivery(self, services: Services, *, after_reply: bool) -> None:
            """Start the process that delivers the outbox; ``after_reply``: it may be started then. Raises OSError."""

        def announce_problems(self, services: Services, *, has_screen: bool) -> str:
            """Tell, once for each mistake, that config.toml has problems; return what the user is shown, if anything.

            Without ``has_screen`` the event shows the user nothing, and the result is empty. Raises OSError if no
            deliverer can be started.
            """

        def push_outbox(self, environ: Mapping[str, str], home: Home) -> None:
            """Have delivered, soon and elsewhere, what an earlier delivery had to leave behind."""

        def deliver_anew(self, environ: Mapping[str, str], home: Home, *, was_broken: bool) -> None:
            """Have a deliverer begin that knows the config.toml of now, if there is something for it to do.

            One that is at work gives way. ``was_broken`` says whether the file before had problems. Raises nothing.
            """

        def start_sharing(self, environ: Mapping[str, str], home: Home, plugins: Plugins) -> None:
            """Have a process bring this machine's documents to the engine of ``[storage]``, if none is at work.

            Called only if that is not files. It is not waited for. Raises OSError if it cannot be started.
            """

        def start_router(self, environ: Mapping[str, str], home: Home, idle: float, *, asked: bool = False) -> None:
            """Start a resident router, if none is there, that ends after ``idle`` seconds without a call.

            Without ``asked``, not if one was started just before. It is not waited for. Raises OSError if it cannot be
            started.
            """


__all__ = ["Context", "Services"]


class Services:
    """The core's services over one home folder: documents, outbox, journal and plugins."""

    def __init__(
        self,
        *,
        home: Home,
        config: Config,
        environ: Mapping[str, str],
        plugins: Plugins,
        journal: Journal,
        wiring: Wiring,
    ) -> None:
        """Take what every process has; the rest is made on first use."""
        self.home = home
        """Where config, state, logs and prompts are."""
        self.config = config
        self.environ = environ
        """The environment of this process. Holds secrets: never write it anywhere."""
        self.plugins = plugins
        self.journal = journal
        self._wiring = wiring

    @cached_property
    def store(self) -> DocumentStore:
        """The documents of this home."""
        from hookrouter.storage.engine import open_store

        return open_store(self.home, self.warn)

    @cached_property
    def outbox(self) -> Outbox:
        """The wakes that are not yet delivered."""
        return self._wiring.outbox(self)

    def machines(self) -> Machines:
        """Return the machines that share an engine with this one, with nothing opened; the caller closes them."""
        return self._wiring.machines(self)

    if TYPE_CHECKING:

        @overload
        def settings(self, plugin: str) -> Mapping[str, object]: ...
        @overload
        def settings(self, plugin: type[T]) -> T: ...

    def settings(self, plugin: str | type[T]) -> Mapping[str, object] | T:
        """Return a plugin's settings, ``[plugins.NAME.settings]``, with its own defaults filled in.

        By the plugin's name: the plain values, without the import of anything. By the attrs class that the plugin
        declares in ``plugin_settings()``: an object of it. Raises LookupError for a class that no enabled plugin, or
        more than one, declares.
        """
        return self.plugins.settings(plugin) if isinstance(plugin, str) else self.plugins.declared(plugin)

    def checked_settings(self, plugin: type[T]) -> T:
        """Return what :meth:`settings` does, but never the defaults in the place of a table that is wrong.

        For what must not begin then, such as a server that asks for a token. Raises HookrouterError with the first
        thing that is wrong, and LookupError as :meth:`settings` does.
        """
        if faults := self.plugins.faults(plugin):
            raise HookrouterError(faults[0])
        return self.settings(plugin)

    def under(self, config: Config) -> Services:
        """Return the same services as they would be with another config."""
        from hookrouter._plugins.discovery import resolve_settings

        settings = resolve_settings(self.home, self.plugins.index, config)
        return Services(
            home=self.home,
            config=config,
            environ=self.environ,
            plugins=self.plugins.under(config, settings),
            journal=self.journal,
            wiring=self._wiring,
        )

    def at_session(
        self,
        terminal: TerminalAddress | None,
        *,
        event: str,
        session_id: str,
        cwd: str,
        pid: int,
        record: dict[str, object],
    ) -> Context:
        """Return the context of a session that is watched from outside, as a hook of it would have it.

        ``terminal`` is where its client is drawn, ``pid`` the client's process id (0 if it is not known). ``record``
        takes what is noted; the caller journals it.
        """
        context = Context(
            event=event,
            payload={"session_id": session_id, "cwd": cwd},
            home=self.home,
            config=self.config,
            environ={**self.environ, "CLAUDE_PID": str(pid)},
            plugins=self.plugins,
            journal=self.journal,
            wiring=self._wiring,
            record=record,
        )
        context.place(terminal)
        return context

    def warn(self, text: str) -> None:
        """Journal something that went wrong and did not stop the work."""
        self.journal.write({"level": "warning", "reason": text}, None)

    def start_delivery(self, *, after_reply: bool = False) -> None:
        """Start the process that delivers the outbox; it outlives this one. Returns at once.

        ``after_reply``: this is a hook that waits for nobody, so that Claude Code need not wait for the process either.
        """
        try:
            self._wiring.start_delivery(self, after_reply=after_reply)
        except OSError as error:
            # The messages are in the outbox, and the next deliverer takes them along.
            self.warn(f"no deliverer could be started: {error}")

    def start_router(self) -> None:
        """Start a resident router if none is there, which ends after ``[serve] idle`` seconds without a call.

        Returns at once. Raises OSError if it cannot be started.
        """
        self._wiring.start_router(self.environ, self.home, self.config.serve.idle, asked=True)


class Context(Services):
    """The context argument of every hook about an event."""

    def __init__(
        self,
        *,
        event: str,
        payload: Mapping[str, object],
        home: Home,
        config: Config,
        environ: Mapping[str, str],
        plugins: Plugins,
        journal: Journal,
        wiring: Wiring,
        record: dict[str, object],
    ) -> None:
        """Made by the router, once for each hook run."""
        super().__init__(home=home, config=config, environ=environ, plugins=plugins, journal=journal, wiring=wiring)
        self.event = event
        """The event's name, for example ``PreToolUse``."""
        self.messages: list[str] = []
        """What the user is told with the reply: see :meth:`tell`."""
        self._after_reply: list[tuple[str, Callable[[], None]]] = []
        """What :meth:`after_reply` was given, each with the plugin that gave it."""
        self.caller = ""
        """The plugin that was called last. Set by the router."""
        self._delivers_later: bool | None = None
        """Whether what was asked for is a delivery after the reply; None if none was."""
        self._payload = payload
        self._record = record

    @property
    def session_id(self) -> str:
        """Claude Code's id of the session; empty in a payload that has none."""
        value = self._payload.get("session_id")
        return value if isinstance(value, str) else ""

    @property
    def cwd(self) -> str:
        """The session's working folder, as the payload says."""
        value = self._payload.get("cwd")
        return value if isinstance(value, str) and value else os.getcwd()

    @property
    def project(self) -> str:
        """The folder in which Claude Code was started, by CLAUDE_PROJECT_DIR: Claude may work elsewhere by now, see
        :attr:`cwd`, which this is where nobody says so (HTTP hooks)."""
        return self.environ.get("CLAUDE_PROJECT_DIR") or self.cwd

    @cached_property
    def terminal(self) -> TerminalAddress | None:
        """The pane in which Claude Code runs; None outside every known terminal, and if it could not be asked for."""
        return self._located[0]

    @cached_property
    def _located(self) -> tuple[TerminalAddress | None, str]:
        address, failure = self._wiring.locate_terminal(self)
        if failure:
            self._record["level"] = "error"
            self.warn(failure)
            self.tell(f"the name of this session is not known, because its terminal could not be asked: {failure}")
        return address, failure

    def place(self, terminal: TerminalAddress | None) -> None:
        """Say in which pane Claude Code runs, so that no backend is asked."""
        self._located = terminal, ""

    @cached_property
    def session(self) -> str:
        """The session's name: the terminal session's, or ``claude-`` and the first 8 characters of the session id.

        The latter outside every terminal, and if the terminal could not be asked.
        """
        if self.terminal is not None:
            name = self.terminal.session
        else:
            from hookrouter.storage.journal import session_name

            name = session_name(self.session_id)
        self._record["session"] = name
        return name

    @cached_property
    def agent(self) -> Agent | None:
        """The agent that manages this session; None if no ``[[agents]]`` entry matches it.

        If the terminal could not be asked for the session's name, it may be any: the first entry that allows that.
        """
        found = self.config.agent_for(self.session, self.cwd)
        if found is None and self._located[1]:
            # A question is rather brought to an agent that did not ask for it than dropped.
            found = self.config.agent_for(None, self.cwd)
        return found

    def note(self, key: str, value: object) -> None:
        """Add a key to this run's journal record; the value must be JSON."""
        self._record[key] = value

    def debug(self, reason: str) -> None:
        """Say why a guard ended this run early; the run's journal record then has the level ``debug``."""
        self._record.setdefault("reason", reason)
        self._record["guarded"] = True

    def warn(self, text: str) -> None:
        """Add a warning to this run's journal record."""
        warnings = self._record.setdefault("warnings", [])
        if isinstance(warnings, list):
            warnings.append(text)

    def tell(self, text: str) -> None:
        """Show the user a line with the reply to this hook, beside whatever the plugins reply."""
        if text not in self.messages:
            self.messages.append(text)

    def after_reply(self, function: Callable[[], None]) -> None:
        """Call a function once the reply to this hook is written to Claude Code.

        It is not called if the reply cannot be given: another plugin ends the process, hookrouter fails, somebody
        kills the hook. All such functions together have 5 seconds. One that raises is a warning in the journal that
        names the plugin, and fails a test in which the fixture ``hooks`` fired the event.
        """
        self._after_reply.append((self.caller, function))

    def reply_written(self) -> None:
        """Call what :meth:`after_reply` was given, once. For the core, when the reply is written."""
        functions, self._after_reply = self._after_reply, []
        for plugin, function in functions:
            try:
                function()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - it is a plugin's
                self._failed_late(plugin, error)

    def _failed_late(self, plugin: str, error: BaseException) -> None:
        """Journal what a function raised that followed the reply: the run's own record is written."""
        reason = f"{f'{plugin}: ' if plugin else ''}a function that was to follow the reply failed: "
        record = {"level": "warning", "event": self.event, "reason": reason + describe_error(error)}
        self.journal.write(record, self.session_id or None)

    def start_delivery(self, *, after_reply: bool = False) -> None:
        """See :meth:`Services.start_delivery`; done once, except for one who waits after one who does not."""
        if self._delivers_later is None or (self._delivers_later and not after_reply):
            self._delivers_later = after_reply
            super().start_delivery(after_reply=after_reply)
