"""The registry: which plugins are installed, active, disabled or broken, and which of them listen to a hook.

Knows plugins by their index records, so that a call that nobody listens to never imports pluggy or a plugin; loading
and calling them is the business of :mod:`hookrouter._plugins.manager`.
"""

from __future__ import annotations

from hookrouter._contract.hook_names import concerns
from hookrouter._contract.tables import EVENTS, TOOL_ALIASES
from hookrouter._plugins.index import NOT_INSTALLED, DiscoveredPlugin, declared_tables
from hookrouter.config import GUARDS_ALONE, HOLDING
from hookrouter.util.value import NO_ITEMS, Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from hookrouter._config.validation import Problem
    from hookrouter._plugins.index import OwnSettings
    from hookrouter.config import Config, PluginConfig
    from hookrouter.storage.home import Home

    T = TypeVar("T")

__all__ = [
    "ALONE",
    "DECLARED",
    "NOT_INSTALLED",
    "UNKNOWN_HOOKS",
    "PluginInfo",
    "PluginStatus",
    "Plugins",
    "build_settings",
    "remedy",
]

UNKNOWN_HOOKS = ("pre_tool_use", "permission_request")
"""What a plugin that is set to fail closed is taken to listen to while nobody knows its hooks: whatever would let a
tool run. Refusing more would keep Claude from ending its turn."""

DEFAULT_TIMEOUT = 10.0
"""Seconds that a plugin may take in one run, if neither the user nor the plugin says another number."""

SET, DECLARED, UNSET = "config.toml", "plugin", "default"
"""Who says how long a plugin may take."""

SCRIPT_MARGIN = 5.0
"""Seconds that scripts have beside their own time limits: to be started, and ended with what they have started."""

NO_HOOKS = "it implements no hook, although config.toml sets it to fail closed"


ALONE = f"config.toml: plugins.{GUARDS_ALONE} is true"
"""Why a plugin of hookrouter's own is off where guards are alone."""

_WATCHER = "session_watcher"
"""The hook by which a plugin looks at sessions of its own accord."""


class PluginStatus:
    """The values of ``PluginInfo.status``."""

    ACTIVE = "active"
    DISABLED = "disabled"
    BROKEN = "broken"


class PluginInfo(Value, kw_only=True):
    """One installed plugin as ``hookrouter plugins list`` shows it."""

    name: str
    status: str
    """``active``, ``disabled`` (by config) or ``broken``: it cannot be imported, its hooks do not fit the specs, or the
    config sets it to fail closed and it is not installed."""
    reason: str = ""
    """Why it is not active; empty if it is."""
    distribution: str = ""
    version: str = ""
    value: str = ""
    """The entry point's value: the module, or ``module:attribute``."""
    hooks: tuple[str, ...] = ()
    """The hooks that it implements and its settings do not leave out; of a broken plugin, those that the last good
    import showed."""
    hooks_known: bool = True
    """False if a broken plugin was never imported; set to fail closed it is taken to listen to UNKNOWN_HOOKS."""
    hints: tuple[str, ...] = ()
    """What is probably a mistake in it, one line each."""
    waits: Mapping[str, float] = NO_ITEMS
    """The hooks in which it may wait, each with the most seconds."""
    ruled: frozenset[str] = frozenset()
    """The hooks that are about the calls of ``[[approvals.rules]]`` alone."""
    scripted: Mapping[str, float] = NO_ITEMS
    """The hooks that are about the calls of ``[[scripts]]`` alone, each with the most seconds that these may take."""
    stateless: frozenset[str] = frozenset()
    """The hooks in which it leaves nothing in its process."""
    if_known: frozenset[str] = frozenset()
    """The hooks that are registered only for clients that know their events."""
    matching: Mapping[str, tuple[str, ...]] = NO_ITEMS
    """The hooks that are about some calls of their events, each with the values that matchers look at."""
    wakes: frozenset[str] = frozenset()
    """The hooks that may begin a turn of Claude's, and are called for that alone."""
    problems: tuple[str, ...] = ()
    """What is wrong with its settings, one line each; an active plugin runs with the defaults then."""
    settings_key: str = ""
    """The key of config.toml below which its settings stand."""
    timeout: float = DEFAULT_TIMEOUT
    """How many seconds it may take in one run, for all its calls together and its import."""
    timeout_from: str = UNSET
    """Who says so: ``config.toml`` (the user), ``plugin`` (it declares that), or ``default``."""

    @property
    def allowed(self) -> str:
        """Its time limit in words, with who has set it and what changes it."""
        setting = f"[plugins.{self.name}] timeout"
        if self.timeout_from != SET:
            who = "the plugin's own" if self.timeout_from == DECLARED else "the default"
            setting = f"{who}, {setting} sets another"
        return f"its timeout of {self.timeout:g} s ({setting}, for all its calls in a run)"

    def takes(self, hook: str, value: str | None, *, wakes: bool = False) -> bool:
        """Whether a hook that it implements is called in a run.

        ``value`` is what matchers look at in the call, None if that is nothing; ``wakes``: the run is for hooks that
        may begin a turn of Claude's.
        """
        if (hook in self.wakes) != wakes:
            return False
        values = self.matching.get(hook)
        return values is None or value is None or value in values or TOOL_ALIASES.get(value) in values


class Plugins:
    """The plugins of one environment under one config. Loads none before it is needed."""

    def __init__(
        self,
        index: Iterable[DiscoveredPlugin],
        config: Config,
        report: Callable[[str, str], None],
        objects: Mapping[str, object] | None = None,
        settings: Mapping[str, OwnSettings] | None = None,
    ) -> None:
        """``report(plugin name, what went wrong)`` hears of every failure; ``objects`` are plugins already loaded.

        ``settings`` is what :func:`hookrouter._plugins.discovery.resolve_settings` says of this index and config.
        """
        self.all_config = config
        """The whole config."""
        self._report = report
        self._objects: dict[str, object] = dict(objects or {})
        self._settings = dict(settings or {})
        self.has_called_unmarked = False
        """Whether a plugin was asked what it contributes that does not say that it leaves nothing by that."""
        self._index = tuple(index)
        self.index = tuple(plugin for plugin in self._index if plugin.error != NOT_INSTALLED)
        """What is installed, whatever the config says of it."""
        self.tables = declared_tables(self._index)
        """The tables of config.toml that plugins declare, each with the plugin's name."""
        self._infos = _listed(self._index, config, self._settings)

    def under(self, config: Config, settings: Mapping[str, OwnSettings]) -> Plugins:
        """Return the same plugins under another config; ``settings`` as the constructor takes them."""
        return Plugins(self._index, config, self._report, self._objects, settings)

    def listing(self) -> list[PluginInfo]:
        """Return every installed plugin, in the order in which they are called.

        Those of ``[plugins] order``, then the others by name, then those of ``[plugins] last``.
        """
        return list(self._infos)

    def config(self, name: str) -> PluginConfig:
        """Return the ``[plugins.NAME]`` table of one plugin."""
        return self.all_config.plugin(name)

    def timeout(self, name: str) -> float:
        """Return how many seconds a plugin may take in one run."""
        return next((info.timeout for info in self._infos if info.name == name), DEFAULT_TIMEOUT)

    def settings(self, name: str) -> Mapping[str, object]:
        """Return a plugin's settings as JSON values, with its own defaults filled in if it declares its settings."""
        own = self._settings.get(name)
        return self.config(name).settings if own is None or own.values is None else own.values

    def own_settings(self, name: str) -> OwnSettings | None:
        """Return what is known of the settings of an enabled plugin that declares them; None for any other."""
        return self._settings.get(name)

    def declared(self, kind: type[T]) -> T:
        """Return the settings of the plugin that declares this class, as an object of it.

        Raises LookupError if no enabled plugin declares it, or several do.
        """
        name = self._declaring(kind)
        return build_settings(kind, self._settings[name], self.config(name).settings)

    def faults(self, kind: type[object]) -> tuple[str, ...]:
        """Return what is wrong with the settings of the plugin that declares this class, a line each.

        Raises LookupError as :meth:`declared` does.
        """
        return self._settings[self._declaring(kind)].faults

    def _declaring(self, kind: type[object]) -> str:
        target = f"{kind.__module__}:{kind.__qualname__}"
        names = [name for name, own in self._settings.items() if own.target == target]
        if len(names) != 1:
            who = f"the plugins {', '.join(names)} declare" if names else "no enabled plugin declares"
            raise LookupError(f"{who} {target} in plugin_settings(), so whose settings it holds is not known")
        return names[0]

    def listeners(self, hooks: Iterable[str]) -> list[PluginInfo]:
        """Return the active plugins that implement any of these hooks."""
        wanted = frozenset(hooks)
        return [
            info for info in self._infos if info.status == PluginStatus.ACTIVE and not wanted.isdisjoint(info.hooks)
        ]

    def called(self, hooks: Sequence[str], value: str | None, *, wakes: bool = False) -> list[PluginInfo]:
        """Return the listeners of which a run calls a hook; ``value`` and ``wakes`` as :meth:`PluginInfo.takes` has."""
        return [
            info
            for info in self.listeners(hooks)
            if any(hook in info.hooks and info.takes(hook, value, wakes=wakes) for hook in hooks)
        ]

    def broken(self) -> list[PluginInfo]:
        """Return the plugins that are enabled and cannot be used."""
        return [info for info in self._infos if info.status == PluginStatus.BROKEN]

    def with_invalid_settings(self) -> list[tuple[PluginInfo, str]]:
        """Return the active plugins whose settings are wrong, each with one line of what is."""
        return [(info, text) for info in self._infos if info.status == PluginStatus.ACTIVE for text in info.problems]

    def broken_fail_closed(self, hooks: Iterable[str]) -> list[PluginInfo]:
        """Return the broken plugins that are set to fail closed and listen, or may listen, to one of these hooks."""
        wanted = frozenset(hooks)
        return [
            info
            for info in self.broken()
            if self.config(info.name).on_error == "closed" and not wanted.isdisjoint(_possible_hooks(info))
        ]

    def broken_fail_open(self, hooks: Sequence[str], value: str | None, *, wakes: bool = False) -> list[PluginInfo]:
        """Return the broken plugins without which a call goes on though they were known to listen to it.

        The arguments are as :meth:`called` has them.
        """
        return [
            info
            for info in self.broken()
            if self.config(info.name).on_error != "closed"
            and any(hook in info.hooks and info.takes(hook, value, wakes=wakes) for hook in hooks)
        ]

    def guards(self, infos: Iterable[PluginInfo]) -> list[str]:
        """Return the names of those plugins that are set to fail closed."""
        return [info.name for info in infos if self.config(info.name).on_error == "closed"]

    def fail_closed(self, event_hook: str) -> list[str]:
        """Return the names of the plugins that are set to fail closed and may listen to an event, whatever its tool."""
        return [
            info.name
            for info in self._infos
            if info.status != PluginStatus.DISABLED
            and self.config(info.name).on_error == "closed"
            and any(concerns(hook, event_hook) for hook in _possible_hooks(info))
        ]

    def load(self, name: str) -> object:
        """Return the plugin object, importing it on first use. Raises whatever the plugin raises."""
        if name not in self._objects:
            from hookrouter._plugins.manager import load_object

            self._objects[name] = load_object(next(info.value for info in self._infos if info.name == name))
        return self._objects[name]

    def contributions(
        self, hook: str, key: str = "name", *, several: bool = False, base: type = object
    ) -> dict[str, Any]:
        """Return what active plugins contribute by a hook, by the attribute ``key``.

        Each plugin returns one object, or with ``several`` a sequence of them. An object without a text there, one that
        does not derive from ``base``, and the second one of a name, are reported and left out. Callers use the typed
        function beside the interface, such as :func:`hookrouter.messaging.gateway.gateways`.
        """
        result: dict[str, Any] = {}
        for plugin, given in self.collect(hook):
            for one in given if several else [given]:
                name = getattr(one, key, None)
                if not isinstance(name, str) or not name:
                    from hookrouter.util.text import describe_value

                    self._report(plugin, f"{hook}() returned {describe_value(one)}, which has no {key!r}")
                elif not isinstance(one, base):
                    text = f"{hook} {name!r} does not derive from {base.__module__}.{base.__qualname__}"
                    self._report(plugin, text)
                elif name in result:
                    text = f"{hook} {name!r} is already contributed by another plugin; this one is not used"
                    self._report(plugin, text)
                else:
                    result[name] = one
        return result

    def read_gateway_settings(self, gateway: Any, name: str, table: Mapping[str, object]) -> tuple[Any, list[Problem]]:
        """Return what the methods of a gateway take for ``[gateways.NAME]``, and what is wrong with the table.

        See :func:`hookrouter._plugins.gateway_settings.read_gateway_settings`.
        """
        from hookrouter._plugins.gateway_settings import read_gateway_settings

        return read_gateway_settings(gateway, name, table)

    def read_engine_settings(self, engine: object, table: Mapping[str, object]) -> tuple[Any, list[Problem]]:
        """Return what the engine's ``open`` takes for the keys of ``[storage]``, and what is wrong with them.

        See :func:`hookrouter._plugins.engine_settings.read_engine_settings`.
        """
        from hookrouter._plugins.engine_settings import read_engine_settings

        return read_engine_settings(engine, table)

    def collect(
        self, hook: str, only: str | None = None, report: Callable[[str, str], None] | None = None
    ) -> list[tuple[str, Any]]:
        """Return what active plugins return from a hook without arguments, unchecked, each with its plugin's name.

        ``only`` asks one plugin alone; ``report`` hears of failures in the place of the registry's own.
        """
        from hookrouter._plugins.manager import collect
        from hookrouter.util.text import describe_error
        from hookrouter.util.time_limit import time_limit

        loaded = []
        report = report or self._report
        for info in self.listeners([hook]):
            if only not in (None, info.name):
                continue
            self.has_called_unmarked |= hook not in info.stateless
            try:
                with time_limit(info.timeout):
                    loaded.append((info.name, self.load(info.name)))
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                report(info.name, f"could not be imported: {describe_error(error)}")
        return collect(hook, loaded, report)


def build_settings(kind: type[T], own: OwnSettings, table: Mapping[str, object]) -> T:
    """Return the settings object of a plugin whose table is ``table``. Raises what the class raises."""
    built = own.quickly_built(kind)
    if built is not None:
        return built
    from hookrouter._plugins.settings_schema import structure

    return structure(kind, {} if own.problems else table)


_last: tuple[tuple[DiscoveredPlugin, ...], Config, Mapping[str, OwnSettings], tuple[PluginInfo, ...]] | None = None
"""What was listed last, and from what: a process that serves many calls lists the same again."""


def _listed(
    index: tuple[DiscoveredPlugin, ...], config: Config, settings: Mapping[str, OwnSettings]
) -> tuple[PluginInfo, ...]:
    """Return every installed plugin, in the order in which they are called."""
    global _last
    if _last is not None and _last[0] is index and _last[1] is config and _last[2] == settings:
        return _last[3]
    found = {plugin.name: plugin for plugin in index if plugin.error != NOT_INSTALLED}
    gone = {plugin.name: plugin for plugin in index if plugin.error == NOT_INSTALLED}
    for name, table in config.plugins.items():
        if table.enabled and table.on_error == "closed" and name not in found:
            found[name] = gone.get(name) or DiscoveredPlugin(name=name, value="", error=NOT_INSTALLED)
    first = [name for name in config.plugin_order if name in found]
    last = [name for name in config.plugin_last if name in found]
    ordered = [*first, *sorted(found.keys() - {*first, *last}), *last]
    infos = tuple(_info(found[name], config, settings.get(name)) for name in ordered)
    _last = index, config, dict(settings), infos
    return infos


def _possible_hooks(info: PluginInfo) -> tuple[str, ...]:
    return info.hooks if info.hooks_known else UNKNOWN_HOOKS


def _serves_answers(plugin: DiscoveredPlugin) -> bool:
    """Whether a plugin is one of hookrouter's own that listen to events without anything of the user's for them."""
    from hookrouter.util.program import PROGRAM

    return plugin.distribution == PROGRAM and any(
        hook == _WATCHER
        or (
            hook not in (*plugin.ruled, *plugin.scripted)
            and any(concerns(hook, event.hook) for event in EVENTS.values())
        )
        for hook in plugin.known_hooks or ()
    )


def _info(plugin: DiscoveredPlugin, whole: Config, own: OwnSettings | None) -> PluginInfo:
    config = whole.plugin(plugin.name)
    status, reason = PluginStatus.ACTIVE, ""
    problems = () if own is None else own.faults
    settings = config.settings if own is None or own.values is None else own.values
    if not config.enabled:
        status, reason = PluginStatus.DISABLED, f"config.toml: plugins.{plugin.name}.enabled is false"
    elif whole.guards_alone and not config.is_asked_for and _serves_answers(plugin):
        status, reason = PluginStatus.DISABLED, ALONE
    elif plugin.error:
        status, reason = PluginStatus.BROKEN, plugin.error
    elif own is not None and problems and (own.values is None or config.on_error == "closed"):
        # A guard must not run with other rules than those that somebody wrote.
        status, reason = PluginStatus.BROKEN, "; ".join(problems)
    elif config.on_error == "closed" and not plugin.hooks:
        # Its file may be half written at this moment; and who wants this wants it to guard something.
        status, reason = PluginStatus.BROKEN, NO_HOOKS
    off = {hook for hook, _, setting in plugin.waits if setting is not None and settings.get(setting) is not True}
    if not whole.approvals.rules and not (whole.project_rules.rules and plugin.name == HOLDING):
        off.update(plugin.ruled)
    scripted, named = _scripts(whole) if plugin.scripted else ({}, {})
    off.update(hook for hook in plugin.scripted if hook not in scripted)
    hooks = plugin.known_hooks if reason == NO_HOOKS else plugin.hooks
    # The one place that says how long a plugin may take.
    timeout, timeout_from = plugin.timeout or DEFAULT_TIMEOUT, UNSET if plugin.timeout is None else DECLARED
    if config.timeout is not None:
        timeout, timeout_from = config.timeout, SET
    return PluginInfo(
        name=plugin.name,
        status=status,
        reason=reason,
        distribution=plugin.distribution,
        version=plugin.version,
        value=plugin.value,
        hooks=tuple(hook for hook in hooks or () if hook not in off),
        hooks_known=bool(hooks) if reason == NO_HOOKS else hooks is not None,
        hints=plugin.hints,
        settings_key=plugin.settings_key,
        waits={hook: seconds for hook, seconds, _ in plugin.waits},
        ruled=frozenset(plugin.ruled),
        scripted={hook: seconds for hook, seconds in scripted.items() if hook in plugin.scripted},
        stateless=frozenset(plugin.stateless),
        if_known=frozenset(plugin.if_known),
        matching={**dict(plugin.matching), **{hook: names for hook, names in named.items() if hook in plugin.scripted}},
        wakes=frozenset(plugin.wakes),
        problems=problems,
        timeout=timeout,
        timeout_from=timeout_from,
    )


def _scripts(config: Config) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """Return the hooks of the events that ``[[scripts]]`` is about, each with the seconds that these may take.

    And those of them that are about some calls by name alone, each with all that matchers may find in these.
    """
    facts = {record.name: record for record in EVENTS.values()} if config.scripts else {}
    seconds: dict[str, float] = {}
    named: dict[str, tuple[str, ...]] = {}
    for script in config.scripts:
        record = facts[script.event]
        seconds[record.hook] = seconds.get(record.hook, SCRIPT_MARGIN) + script.seconds(record.timeout)
        named[record.hook] = (*named.get(record.hook, ()), *script.matcher.split("|"))
    for hook, names in list(named.items()):
        if not all(name.isascii() and name.isidentifier() for name in names):
            del named[hook]
        else:
            # A matcher of Bash takes the commands of Monitor too.
            others = ("Monitor",) if "Bash" in names else ()
            aliases = (TOOL_ALIASES[name] for name in names if name in TOOL_ALIASES)
            named[hook] = tuple(dict.fromkeys((*names, *others, *aliases)))
    return seconds, named


def remedy(plugin: PluginInfo, home: Home) -> str:
    """Return what mends a plugin that is broken; empty for any other."""
    if plugin.status != PluginStatus.BROKEN:
        return ""
    if plugin.reason == NOT_INSTALLED:
        return f"install the plugin {plugin.name}, or remove [plugins.{plugin.name}] from {home.config_file}"
    if plugin.problems:
        return f"correct [{plugin.settings_key}] in {home.config_file} (hookrouter config check)"
    from hookrouter._plugins.files import is_file
    from hookrouter._plugins.project import MARK, is_project_plugin

    if is_project_plugin(plugin.distribution):
        return f"read what has changed, and trust it again: hookrouter trust {plugin.distribution.removeprefix(MARK)}"
    mend = (
        f"correct or remove {plugin.value}"
        if is_file(plugin.value)
        else f"fix, upgrade or uninstall {plugin.distribution}"
    )
    return f"{mend}, or disable the plugin: [plugins.{plugin.name}] enabled = false in {home.config_file}"
