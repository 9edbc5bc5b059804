"""What a hook implementation gets beside its event: the session it runs in, and the services of the core.

Everything is made on first use, because most hook runs need little of it: looking up the session's name starts a
program, and a document store opens a folder.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.answering import TerminalAddress
    from hookrouter.config import Agent, Config
    from hookrouter.home import Home
    from hookrouter.journal import Journal
    from hookrouter.outbox import Outbox
    from hookrouter.registry import Plugins
    from hookrouter.store import Store

__all__ = ["Context", "Services", "session_name"]

T = TypeVar("T")


class Services:
    """The core's services over one home folder: documents, outbox, journal and plugins."""

    def __init__(
        self, *, home: Home, config: Config, environ: Mapping[str, str], plugins: Plugins, journal: Journal
    ) -> None:
        """Take what every process has; the rest is made on first use."""
        self.home = home
        """Where config, state, logs and prompts are."""
        self.config = config
        self.environ = environ
        """The environment of this process. Holds secrets: never write it anywhere."""
        self.plugins = plugins
        self.journal = journal

    @cached_property
    def store(self) -> Store:
        """The documents in ``state/``."""
        from hookrouter.store import Store

        return Store(self.home.state, self.warn)

    @cached_property
    def outbox(self) -> Outbox:
        """The wakes that are not yet delivered."""
        from hookrouter.outbox import Outbox

        return Outbox(self.home, self.warn)

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

    def warn(self, text: str) -> None:
        """Journal something that went wrong and did not stop the work."""
        self.journal.write({"level": "warning", "reason": text}, None)


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
        record: dict[str, object],
    ) -> None:
        """Made by the router, once for each hook run."""
        super().__init__(home=home, config=config, environ=environ, plugins=plugins, journal=journal)
        self.event = event
        """The event's name, for example ``PreToolUse``."""
        self._delivering = False
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

    @cached_property
    def terminal(self) -> TerminalAddress | None:
        """The pane in which Claude Code runs; None outside every known terminal."""
        from hookrouter.answering import TerminalError

        backends = self.plugins.terminal_backends()
        chosen = self.config.answer.terminal
        for name in sorted(backends, key=lambda name: name != chosen):
            try:
                address = backends[name].locate(self.environ)
            except TerminalError as error:
                self.warn(f"terminal {name}: {error}")
                continue
            if address is not None:
                return address
        return None

    @cached_property
    def session(self) -> str:
        """The session's name: the terminal session's, or ``claude-`` and the first 8 characters of the session id."""
        name = self.terminal.session if self.terminal is not None else session_name(self.session_id)
        self._record["session"] = name
        return name

    @cached_property
    def agent(self) -> Agent | None:
        """The agent that manages this session; None where no ``[[agents]]`` entry matches it."""
        return self.config.agent_for(self.session, self.cwd)

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

    def start_delivery(self) -> None:
        """Start the process that delivers the outbox, once; it outlives the hook. Returns at once."""
        if self._delivering:
            return
        self._delivering = True
        from hookrouter.outbox import spawn_delivery

        try:
            spawn_delivery(self.environ, self.home)
        except OSError as error:
            # The messages are in the outbox, and the next deliverer takes them along.
            self.warn(f"no deliverer could be started: {error}")


def session_name(session_id: str) -> str:
    """Return the name of a session outside any terminal."""
    return f"claude-{session_id[:8]}"
