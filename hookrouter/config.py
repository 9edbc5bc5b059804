"""The user's ``config.toml`` as values, and which agent manages a session by it."""

from __future__ import annotations

import os

from hookrouter.util.value import NO_ITEMS, Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = [
    "Agent",
    "AnswerConfig",
    "ApprovalRule",
    "ApprovalsConfig",
    "Config",
    "MonitorConfig",
    "PageConfig",
    "PluginConfig",
    "ServeConfig",
    "SessionsConfig",
    "StorageConfig",
]

FILES = "files"
"""The engine of documents that always exists."""

INBOX = "inbox"
"""The gateway that always exists, and the type of its plugin."""

AGENT, PERSON = "agent", "person"
"""The kinds of :class:`Agent`."""

EVERY_KIND = "*"
"""In :attr:`Agent.wake_on`: every kind of dialog."""

DIALOG_KINDS = ("question", "permission", "plan", "elicitation", "blocked")
"""The kinds of dialogs that hookrouter's own plugins bring."""

SESSION_KINDS = (
    "turn_ended",
    "queue_done",
    "queue_held",
    "failed",
    "limited",
    "idle",
    "session_started",
    "session_ended",
    "subagent_ended",
)
"""What else an agent may hear of: how the turns of a session end, and what becomes of its queue."""

ORDER, LAST = "order", "last"
"""The keys of ``[plugins]`` that are no plugin's table; a plugin that is called so cannot be used."""


class Agent(Value):
    """One ``[[agents]]`` entry: which sessions an agent answers for, and how it is woken."""

    id: str
    sessions: tuple[str, ...] = ()
    """Globs on the session's name (case-sensitive); empty for any."""
    workdirs: tuple[str, ...] = ()
    """Globs on the session's working folder; empty for any."""
    enabled: bool = True
    gateway: str = INBOX
    """A name in :attr:`Config.gateways`."""
    fallbacks: tuple[str, ...] = ()
    """The names of the gateways that are asked if that one fails, in order."""
    fallback_after: float = 60.0
    """Seconds for which a gateway fails before the next one is asked too."""
    kind: str = AGENT
    """Who reads the messages: ``agent``, a program that decides by JSON, or ``person``."""
    wake_on: tuple[str, ...] = ("*", "queue_done", "queue_held")
    """What it hears of: kinds of dialogs, a plugin's among them, or ``*`` for all of them, and of
    :data:`SESSION_KINDS`. By default all dialogs, and how a queue ends that somebody has filled; a session without a
    queue tells of nothing but its dialogs."""

    @property
    def is_person(self) -> bool:
        """Whether messages to it are written for a person."""
        return self.kind == PERSON

    def hears_of(self, kind: str) -> bool:
        """Whether it is told of dialogs of this kind."""
        return kind in self.wake_on or EVERY_KIND in self.wake_on


class AnswerConfig(Value):
    """``[answer]``: how answers reach Claude Code."""

    channels: tuple[str, ...] = ("reply", "keys")
    """Answer channels in the order in which they are tried."""
    planner: str = "grammar"
    """The keystroke planner of the keys channel."""
    terminal: str = "tmux"
    """The terminal backend that is asked first where a session runs."""
    wait: float = 24 * 3600.0
    """Seconds for which a hook may wait for an answer, before the question is left to whoever sees it; 0: never."""
    remind_after: float = 600.0
    """Seconds from the wake's delivery to the first reminder of a question that is still open; 0: no reminders."""
    remind_every: float = 0.0
    """Seconds from one reminder to the next; 0: as ``remind_after``."""
    reminders: int = 3
    """How many reminders there are at most."""
    escalate_after: float = 3600.0
    """Seconds for which a question may be open before ``escalate_to`` is told; and for which an agent that took a
    question may give no sign before it counts as silent."""
    escalate_to: str = ""
    """The gateway that is told, by its name in :attr:`Config.gateways`; empty for none."""

    @property
    def reminds(self) -> bool:
        """Whether agents are reminded at all."""
        return self.remind_after > 0 and self.reminders > 0


class ApprovalRule(Value):
    """One ``[[approvals.rules]]`` entry: who decides on the calls that it is about."""

    tool: str
    """Which calls, in the syntax of Claude Code's permission rules: see :mod:`hookrouter.permission_rules.rule`."""
    decide: str
    """``allow``, ``deny``, ``agent`` or ``person``."""
    ask: str = "client"
    """When the agent is asked: ``client``, if Claude Code asks, or ``always``."""


class ApprovalsConfig(Value):
    """``[approvals]``: who decides what Claude asks permission for."""

    rules: tuple[ApprovalRule, ...] = ()
    """The first one that is about a call says who decides; of none the person at the terminal."""
    rows: str = PERSON
    """Who may choose a row of the client's own dialogs, of which no hook tells: ``agent`` or ``person``."""
    mirror: bool = False
    """Whether ``hookrouter install`` writes what is refused into Claude Code's own ``permissions.deny``, too."""


class SessionsConfig(Value):
    """``[sessions]``: how prompts and commands of a session's queue are submitted."""

    channels: tuple[str, ...] = ("mod", "keys", "doorbell", "stop")
    """Prompt channels in the order in which they are tried."""
    proof_wait: float = 20.0
    """Seconds that the client has, after an item was submitted, to prove it by an event or a record."""


class PluginConfig(Value):
    """``[plugins.NAME]``: how one plugin is run."""

    enabled: bool = True
    on_error: str = "open"
    """``open``: a failure is recorded and the call goes on; ``closed``: a failure refuses the call."""
    timeout: float = 10.0
    """Seconds that one call of the plugin may take."""
    settings: Mapping[str, object] = NO_ITEMS
    """The plugin's own table, ``[plugins.NAME.settings]``, as JSON values, as it is written. What a plugin gets of it
    is what ``context.settings(NAME)`` returns."""
    breaker: int = 5
    """Runs that fail one after the other after which the plugin is switched off for a while; 0: never."""

    @property
    def is_strict(self) -> bool:
        """Whether this makes hookrouter stricter than a plugin without a table does."""
        return self.on_error == "closed" or not self.enabled


class ServeConfig(Value):
    """``[serve]``: how the resident router runs."""

    auto: bool = False
    """Whether a hook call that finds no router starts one."""
    idle: float = 1800.0
    """Seconds without a call after which a router ends that was started so."""
    http: str = ""
    """The loopback address, ``127.0.0.1:PORT``, at which it takes Claude Code's http hooks; empty for none."""
    mod: bool = False
    """Whether it takes calls of the client's module over HTTP on its own socket."""


DEFAULT_PORTS = {"http": 80, "https": 443}
"""The ports that an address goes without."""


def origin_at(scheme: str, place: str) -> str:
    """Return the address of a server at ``HOST:PORT`` as browsers write it: small, and without a default port."""
    return f"{scheme}://{place.lower().removesuffix(f':{DEFAULT_PORTS[scheme]}')}"


class PageConfig(Value):
    """``[page]``: the page for people, which the resident router serves."""

    enabled: bool = True
    """Whether it is served, where the extra ``hookrouter[serve]`` is installed."""
    address: str = "127.0.0.1:8790"
    """``HOST:PORT`` at which it is served."""
    url: str = ""
    """How people reach it, without a slash at the end; empty: at its address."""
    user_header: str = ""
    """The header in which a proxy names the user; empty: there is no such proxy."""
    certificate: str = ""
    """The file of a TLS certificate with its chain; empty: no TLS."""
    private_key: str = ""
    """The file of its key."""
    secret_file: str = ""
    """The file of the secret that signs logins and links; empty: one of this home's own."""
    login_days: float = 30.0
    """How many days a login holds."""
    link_hours: float = 24.0
    """How many hours the link to one question holds that is in a message."""

    @property
    def base_url(self) -> str:
        """How people reach it, without a slash at the end."""
        return self.url or origin_at("https" if self.certificate else "http", self.address)


class MonitorConfig(Value):
    """``[monitor]``: where the resident router tells other programs how it stands."""

    address: str = ""
    """``HOST:PORT`` of ``/metrics``, ``/healthz`` and ``/readyz``; empty for none."""
    token_env: str = ""
    """The environment variable that holds the token which ``/metrics`` asks for; empty for none."""
    token_file: str = ""
    """The file that holds it; empty for none."""

    traces: bool = False
    """Whether messages hand a trace context on to agents."""

    @property
    def asks_for_token(self) -> bool:
        """Whether ``/metrics`` is for those alone who have the token."""
        return bool(self.token_env or self.token_file)


class StorageConfig(Value):
    """``[storage]``: what keeps the documents that the machines of a fleet share."""

    engine: str = FILES
    """``files``, or the name of an engine that a plugin offers."""
    machine: str = ""
    """What this machine is called beside the others; empty: its host name."""
    settings: Mapping[str, object] = NO_ITEMS
    """The engine's own keys of the table, as JSON values, as they are written."""


IMPLICIT_AGENT = Agent(id="default", sessions=("*",))
"""The agent of a config without any ``[[agents]]``: all sessions, woken by the inbox."""


class Config(Value):
    """The whole configuration. What is not in the file has its default."""

    agents: tuple[Agent, ...] = (IMPLICIT_AGENT,)
    gateways: Mapping[str, Mapping[str, object]] = NO_ITEMS
    """The ``[gateways.NAME]`` tables with their ``type``; holds ``inbox`` in any case."""
    answer: AnswerConfig = AnswerConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
    sessions: SessionsConfig = SessionsConfig()
    plugins: Mapping[str, PluginConfig] = NO_ITEMS
    """The ``[plugins.NAME]`` tables; ask :meth:`plugin`, which knows the defaults."""
    problems: tuple[str, ...] = ()
    """What is wrong with the file, one line each. If there is any, all the rest is what the last file without problems
    said (the defaults if there was none), but that plugins which this file closes or switches off are so."""
    plugin_order: tuple[str, ...] = ()
    """``[plugins] order``: the plugins that are called first, in this order; the others follow by name."""
    plugin_last: tuple[str, ...] = ()
    """``[plugins] last``: the plugins that are called last, in this order."""
    journal_payloads: bool = False
    """``[journal] payloads``: whether payloads are kept beside the journal, for ``hookrouter replay``."""
    serve: ServeConfig = ServeConfig()
    page: PageConfig = PageConfig()
    monitor: MonitorConfig = MonitorConfig()
    storage: StorageConfig = StorageConfig()

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            """Take the values as they are, and add the inbox gateway."""
            super().__init__(*values, **named)
            self._set(gateways={INBOX: {"type": INBOX}, **self.gateways})

    def agent_for(self, session: str | None, cwd: str) -> Agent | None:
        """Return the first enabled agent that manages this session, or None.

        ``session`` is None if its name is not known, so that it may be any. An agent manages a session when one of its
        session globs matches the name and one of its workdirs globs the working folder or a folder above it. An empty
        list matches anything. In workdirs ``*`` and ``?`` stay within one folder's name, ``**`` stands for any number
        of folders, and ``~`` for the user's home.
        """
        for agent in self.agents:
            if (
                agent.enabled
                and (session is None or not agent.sessions or any(_matches(session, glob) for glob in agent.sessions))
                and (not agent.workdirs or _below_any(cwd, agent.workdirs))
            ):
                return agent
        return None

    @property
    def is_set_up(self) -> bool:
        """Whether somebody has named agents: without any, questions of all sessions wait in the inbox."""
        return self.agents != (IMPLICIT_AGENT,)

    def is_inbox(self, gateway: str) -> bool:
        """Whether a gateway of this name tells nobody, but leaves what it gets for whoever looks."""
        return self.gateways.get(gateway, {}).get("type") == INBOX

    def reader(self, gateway: str) -> Agent | None:
        """Return the enabled entry that reads what ``escalate_to`` sends through a gateway; None if that is a person.

        An entry reads it if ``gateway`` is its id, or one of its gateways; one of a person before all others. A gateway
        that no entry has is taken to lead to a person.
        """
        readers = [one for one in self.agents if one.enabled and gateway in (one.id, one.gateway, *one.fallbacks)]
        return next((one for one in readers if one.is_person), readers[0] if readers else None)

    def may_manage(self, session: str) -> bool:
        """Whether an enabled agent manages a session of this name, in whatever folder it may work."""
        return any(
            agent.enabled and (not agent.sessions or any(_matches(session, glob) for glob in agent.sessions))
            for agent in self.agents
        )

    def plugin(self, name: str) -> PluginConfig:
        """Return how the plugin of this entry-point name is run."""
        return self.plugins.get(name) or _PLUGIN_DEFAULT

    def gateway(self, name: str) -> tuple[str, dict[str, object]] | None:
        """Return the type of a gateway and its own settings, which are its table without ``type``; None without one.

        This is what a Gateway's ``check`` and ``deliver`` get, and the one place that tells the type from the settings.
        """
        table = self.gateways.get(name)
        if table is None:
            return None
        return str(table.get("type", "")), {key: value for key, value in table.items() if key != "type"}


_PLUGIN_DEFAULT = PluginConfig()


def _matches(text: str, glob: str) -> bool:
    if glob == "*" or glob == text:
        return True
    if not any(character in glob for character in "*?["):
        return False
    # Only real globs are worth the import of re.
    from fnmatch import fnmatchcase

    return fnmatchcase(text, glob)


def _below_any(cwd: str, globs: tuple[str, ...]) -> bool:
    if not os.path.isabs(cwd):
        return False
    folders = {os.path.normpath(cwd), _real(cwd)}
    for glob in globs:
        glob = os.path.expanduser(glob)
        wanted = {os.path.normpath(glob if glob.startswith("/") else f"/{glob}")}
        if not any(character in glob for character in "*?["):
            wanted.add(_real(glob))
        if any(_below(_parts(folder), _parts(one)) for folder in folders for one in wanted):
            return True
    return False


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        # No file has a NUL or a lone surrogate in its name, but a payload may.
        return os.path.normpath(path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _below(folder: list[str], glob: list[str]) -> bool:
    """Whether the glob matches the folder or one above it, part by part."""
    if not glob:
        return True
    if glob[0] == "**":
        return any(_below(folder[start:], glob[1:]) for start in range(len(folder) + 1))
    return bool(folder) and _matches(folder[0], glob[0]) and _below(folder[1:], glob[1:])
