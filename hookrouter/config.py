"""The user's ``config.toml`` as values.

Reading and checking the file is slow and is done by :mod:`hookrouter.config_reader` when the file has changed; in
between, a compiled form in the cache folder is loaded.
"""

from __future__ import annotations

import os

from hookrouter import _json
from hookrouter.names import digest
from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeVar

    from hookrouter.home import Home

    T = TypeVar("T")

__all__ = ["Agent", "AnswerConfig", "Config", "PluginConfig", "load"]

INBOX = "inbox"
"""The gateway that always exists, and the type of its plugin."""

ORDER = "order"
"""The key of ``[plugins]`` that is no plugin's table; a plugin that is called so cannot be used."""

FORMAT = 5
"""The version of the compiled form; a cache of another one is not read."""


FALLBACK_AFTER = 60.0
"""Seconds for which an agent's gateway fails before the next one is asked too, where the config names no others."""


class Agent(Value):
    """One ``[[agents]]`` entry: which sessions an agent answers for, and how it is woken."""

    __slots__ = ("enabled", "fallback_after", "fallbacks", "gateway", "id", "sessions", "workdirs")

    id: str
    sessions: tuple[str, ...]
    """Globs on the session's name (case-sensitive); empty for any."""
    workdirs: tuple[str, ...]
    """Globs on the session's working folder; empty for any."""
    enabled: bool
    gateway: str
    """A name in :attr:`Config.gateways`."""
    fallbacks: tuple[str, ...]
    """The names of the gateways that are asked where that one fails, in order."""
    fallback_after: float
    """Seconds for which a gateway fails before the next one is asked too."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the key's name in config.toml
        sessions: tuple[str, ...] = (),
        workdirs: tuple[str, ...] = (),
        enabled: bool = True,
        gateway: str = INBOX,
        fallbacks: tuple[str, ...] = (),
        fallback_after: float = FALLBACK_AFTER,
    ) -> None:
        """Take the values as they are."""
        self._set(id=id, sessions=sessions, workdirs=workdirs, enabled=enabled)
        self._set(gateway=gateway, fallbacks=fallbacks, fallback_after=fallback_after)


class AnswerConfig(Value):
    """``[answer]``: how answers reach Claude Code."""

    __slots__ = (
        "channels",
        "escalate_after",
        "escalate_to",
        "planner",
        "remind_after",
        "remind_every",
        "reminders",
        "terminal",
        "wait",
    )

    channels: tuple[str, ...]
    """Answer channels in the order in which they are tried."""
    planner: str
    """The keystroke planner of the keys channel."""
    terminal: str
    """The terminal backend that is asked first where a session runs."""
    wait: float
    """Seconds for which a hook may wait for an answer, before the question is left to whoever sees it; 0: never."""
    remind_after: float
    """Seconds from the wake's delivery to the first reminder of a question that is still open; 0: no reminders."""
    remind_every: float
    """Seconds from one reminder to the next; 0: as ``remind_after``."""
    reminders: int
    """How many reminders there are at most."""
    escalate_after: float
    """Seconds for which a question may be open before ``escalate_to`` is told."""
    escalate_to: str
    """The gateway that is told, by its name in :attr:`Config.gateways`; empty for none."""

    def __init__(
        self,
        channels: tuple[str, ...] = ("reply", "keys"),
        planner: str = "grammar",
        terminal: str = "tmux",
        wait: float = 24 * 3600.0,
        remind_after: float = 0.0,
        remind_every: float = 0.0,
        reminders: int = 3,
        escalate_after: float = 3600.0,
        escalate_to: str = "",
    ) -> None:
        """Take the values as they are."""
        self._set(channels=channels, planner=planner, terminal=terminal, wait=wait)
        self._set(remind_after=remind_after, remind_every=remind_every, reminders=reminders)
        self._set(escalate_after=escalate_after, escalate_to=escalate_to)


class PluginConfig(Value):
    """``[plugins.NAME]``: how one plugin is run."""

    __slots__ = ("breaker", "enabled", "on_error", "settings", "timeout")

    breaker: int
    """Runs that fail one after the other after which the plugin is switched off for a while; 0: never."""
    enabled: bool
    on_error: str
    """``open``: a failure is recorded and the call goes on; ``closed``: a failure refuses the call."""
    timeout: float
    """Seconds that one call of the plugin may take."""
    settings: Mapping[str, object]
    """The plugin's own table, ``[plugins.NAME.settings]``, as JSON values, as it is written. What a plugin gets of it
    is what :meth:`hookrouter.registry.Plugins.settings` returns."""

    def __init__(
        self,
        enabled: bool = True,
        on_error: str = "open",
        timeout: float = 10.0,
        settings: Mapping[str, object] | None = None,
        breaker: int = 5,
    ) -> None:
        """Take the values as they are."""
        self._set(enabled=enabled, on_error=on_error, timeout=timeout, settings=dict(settings or {}), breaker=breaker)


IMPLICIT_AGENT = Agent(id="default", sessions=("*",))
"""The agent of a config without any ``[[agents]]``: all sessions, woken by the inbox."""


class Config(Value):
    """The whole configuration. What is not in the file has its default."""

    __slots__ = ("agents", "answer", "gateways", "journal_payloads", "plugin_order", "plugins", "problems")

    agents: tuple[Agent, ...]
    gateways: Mapping[str, Mapping[str, object]]
    """The ``[gateways.NAME]`` tables with their ``type``; holds ``inbox`` in any case."""
    answer: AnswerConfig
    journal_payloads: bool
    """``[journal] payloads``: whether payloads are kept beside the journal, for ``hookrouter replay``."""
    plugins: Mapping[str, PluginConfig]
    """The ``[plugins.NAME]`` tables; ask :meth:`plugin`, which knows the defaults."""
    plugin_order: tuple[str, ...]
    """``[plugins] order``: the plugins that are called first, in this order; the others follow by name."""
    problems: tuple[str, ...]
    """What is wrong with the file, one line each; where there is any, everything else has its default, except that
    plugins which fail closed or are switched off stay so."""

    def __init__(
        self,
        agents: tuple[Agent, ...] = (IMPLICIT_AGENT,),
        gateways: Mapping[str, Mapping[str, object]] | None = None,
        answer: AnswerConfig = AnswerConfig(),  # noqa: B008 - immutable
        plugins: Mapping[str, PluginConfig] | None = None,
        problems: tuple[str, ...] = (),
        plugin_order: tuple[str, ...] = (),
        journal_payloads: bool = False,
    ) -> None:
        """Take the values as they are, and add the inbox gateway."""
        self._set(
            agents=agents,
            gateways={INBOX: {"type": INBOX}, **(gateways or {})},
            answer=answer,
            plugins=dict(plugins or {}),
            problems=problems,
            plugin_order=plugin_order,
            journal_payloads=journal_payloads,
        )

    def agent_for(self, session: str, cwd: str) -> Agent | None:
        """Return the first enabled agent that manages this session, or None.

        An agent manages a session when one of its session globs matches the name and one of its workdirs globs the
        working folder or a folder above it. An empty list matches anything. In workdirs ``*`` and ``?`` stay within
        one folder's name, ``**`` stands for any number of folders, and ``~`` for the user's home.
        """
        for agent in self.agents:
            if (
                agent.enabled
                and (not agent.sessions or any(_matches(session, glob) for glob in agent.sessions))
                and (not agent.workdirs or _below_any(cwd, agent.workdirs))
            ):
                return agent
        return None

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


def load(home: Home) -> Config:
    """Return the configuration of a home. Never raises: what is wrong with the file is in ``problems``.

    The compiled form is taken from the cache while size, modification time and inode of the file are what they were.
    """
    key = file_key(home.config_file)
    if key is None:
        return Config()
    cached = read_cache(home)
    if cached is not None and cached["key"] == key:
        try:
            return decode(cached["config"])
        except (KeyError, TypeError, AttributeError):
            pass
    from hookrouter.config_reader import read

    return read(home, cached)


def file_key(path: str) -> list[object] | None:
    """Return what tells one state of a file from the next; None where there is no file."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return [path, -1, -1, -1]
    return [path, status.st_size, status.st_mtime_ns, status.st_ino]


def cache_name(home: Home) -> str:
    """Return the name under which the compiled form of this home's config is kept in the cache folder."""
    return digest(home.config_file)


def read_cache(home: Home) -> dict[str, object] | None:
    """Return the cached document (``key``, ``config``, ``lasting``) whatever its key, or None where it is unusable.

    Unusable is also what another user has put there, unless this is root.
    """
    try:
        with open(os.path.join(home.cache, f"config-{cache_name(home)}.json"), "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid() != 0:
                return None
            document = _json.loads(file.read())
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT or not {"key", "config"} <= document.keys():
        return None
    return document


_AGENT_FIELDS = ("id", "sessions", "workdirs", "enabled", "gateway", "fallbacks", "fallback_after")
_ANSWER_FIELDS = (
    *("channels", "planner", "terminal", "wait"),
    *("remind_after", "remind_every", "reminders", "escalate_after", "escalate_to"),
)


def encode(config: Config) -> dict[str, object]:
    """Return a config as JSON values."""
    return {
        "agents": [[getattr(agent, name) for name in _AGENT_FIELDS] for agent in config.agents],
        "gateways": config.gateways,
        "answer": [getattr(config.answer, name) for name in _ANSWER_FIELDS],
        "plugins": encode_plugins(config.plugins),
        "plugin_order": config.plugin_order,
        "problems": config.problems,
        "journal_payloads": config.journal_payloads,
    }


def encode_plugins(plugins: Mapping[str, PluginConfig]) -> dict[str, object]:
    """Return plugin tables as JSON values."""
    return {
        name: [entry.enabled, entry.on_error, entry.timeout, entry.settings, entry.breaker]
        for name, entry in plugins.items()
    }


def decode(document: object) -> Config:
    """Return what :func:`encode` was given. Raises TypeError, KeyError or AttributeError for anything else."""
    table = _typed(document, dict)
    return Config(
        agents=tuple(
            Agent(
                _typed(name, str),
                _strings(sessions),
                _strings(workdirs),
                _typed(enabled, bool),
                _typed(gateway, str),
                _strings(fallbacks),
                _typed(fallback_after, float),
            )
            for name, sessions, workdirs, enabled, gateway, fallbacks, fallback_after in _rows(
                table["agents"], len(_AGENT_FIELDS)
            )
        ),
        gateways={name: _typed(entry, dict) for name, entry in table["gateways"].items()},
        answer=next(
            AnswerConfig(
                _strings(channels),
                _typed(planner, str),
                _typed(terminal, str),
                _typed(wait, float),
                _typed(after, float),
                _typed(every, float),
                _typed(reminders, int),
                _typed(escalate_after, float),
                _typed(escalate_to, str),
            )
            for channels, planner, terminal, wait, after, every, reminders, escalate_after, escalate_to in _rows(
                [table["answer"]], len(_ANSWER_FIELDS)
            )
        ),
        plugins=decode_plugins(table["plugins"]),
        problems=_strings(table["problems"]),
        plugin_order=_strings(table["plugin_order"]),
        journal_payloads=_typed(table["journal_payloads"], bool),
    )


def decode_plugins(document: object) -> dict[str, PluginConfig]:
    """Return what :func:`encode_plugins` was given. Raises TypeError for anything else."""
    return {
        name: PluginConfig(
            _typed(enabled, bool),
            _typed(on_error, str),
            float(_typed(timeout, float)),
            _typed(own, dict),
            _typed(breaker, int),
        )
        for name, entry in _typed(document, dict).items()
        for enabled, on_error, timeout, own, breaker in _rows([entry], 5)
    }


def _typed(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _rows(value: object, width: int) -> Iterator[list[Any]]:
    for row in _typed(value, list):
        if len(_typed(row, list)) != width:
            raise TypeError(f"{row!r} does not have {width} items")
        yield row


def _strings(value: object) -> tuple[str, ...]:
    return tuple(_typed(item, str) for item in _typed(value, list))


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
