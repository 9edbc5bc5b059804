"""The entries that hookrouter wants in Claude Code's settings for a set of plugins.

Facts about Claude Code: measured on 2.1.330.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import evolve, field, frozen

from hookrouter._contract.hook_names import DIALOG_EVENT, RAW_HOOK, hook_names
from hookrouter._contract.matchers import listed_names
from hookrouter._contract.tables import EVENTS, TOOLS
from hookrouter._installation.client_version import found_version, knows
from hookrouter._installation.command_line import hook_command
from hookrouter._installation.front_command import Front, front_words
from hookrouter._installation.http_entries import can_be_http, http_keys
from hookrouter._plugins.discovery import resolve_settings
from hookrouter._plugins.project import is_project_plugin, trusted_projects
from hookrouter._plugins.registry import UNKNOWN_HOOKS, Plugins, PluginStatus
from hookrouter._plugins.scan import SCAN_SECONDS
from hookrouter.config import HOLDING
from hookrouter.permission_rules.rule import EVERY_TOOL, parse, tool_names
from hookrouter.storage.home import HOME_VARIABLE
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hookrouter._contract.tables import EventFacts
    from hookrouter._installation.settings_document import Entry
    from hookrouter._plugins.registry import PluginInfo
    from hookrouter.config import Config
    from hookrouter.context import Services

__all__ = [
    "GET_PLUGINS",
    "MCP_MATCHER",
    "NOBODY_LISTENS",
    "REPLACING_EVENTS",
    "Registration",
    "RegistrationSource",
    "kept_unasked",
    "registration_sources",
    "registrations",
    "ruled_tools",
    "wanted_registrations",
    "wanted_sources",
]

NOBODY_LISTENS = "no active plugin implements a hook about an event"

GET_PLUGINS = (
    "hookrouter plugins add FILE adds one that is a file, hookrouter plugins new NAME writes one, and `hookrouter "
    "plugins list` shows what is there"
)
"""What to do where nobody listens."""

MCP_MATCHER = "mcp__.*"

_EXACT = re.compile(r"[\w-]+", re.ASCII)
"""A tool's name, and no expression that Claude Code searches for."""

_SIMPLE = re.compile(r"[\w.:-]+(?:\.\*)?", re.ASCII)
"""A name, or the beginning of names with ``.*`` behind it."""

REPLACING_EVENTS = ("WorktreeCreate",)
"""Events at which a registered hook takes over from Claude Code: it must create the worktree, and one that prints no
path fails. ``raw_event``, which only watches, must not register there."""

WAKING_CLIENT = (2, 1, 150)
"""The oldest Claude Code that was seen to know ``asyncRewake``. One that does not (2.1.50) runs the hook as any other
and waits for it."""

UNBLOCKED_EVENTS = (DIALOG_EVENT, "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle")
"""Events that can be refused, but not by ``onFailure``: Claude Code ignores it, or (PermissionRequest) exit code 2."""

_FORM_EVENT = "Elicitation"
"""What a rule names the forms of MCP servers by, which are no tool's calls: their event."""

_FORM_EVENTS = (_FORM_EVENT, "ElicitationResult")
"""The events that are about forms."""

_MINIMUM_TIMEOUT = 60.0

_MARGIN = SCAN_SECONDS + 5.0
"""Seconds beside the plugins' own: a scan for plugins, and the start of the process on a machine under load."""

_FIXED_TIMEOUTS = ("SessionEnd", "MessageDisplay")
"""Events that keep Claude Code's own timeout. All hooks of a session's end share it, and a larger number there makes
every exit wait for up to that long; the other runs for each batch of lines while Claude writes."""


@frozen
class Registration:
    """One matcher group that hookrouter wants in the settings: one event, one matcher, one command."""

    event: str
    matcher: str | None
    """None for every call of the event (the key is then left out)."""
    command: str
    """A shell command line; of an http hook its URL."""
    timeout: float
    """Seconds."""
    block_on_failure: bool = False
    """Whether Claude Code is to refuse the call if the program crashes, hangs or cannot be started."""
    http: Mapping[str, Any] | None = None
    """The keys of an http hook but its timeout; None for a command."""
    wakes: bool = False
    """Whether it is for the hooks that may begin a turn of Claude's: Claude Code does not wait for it."""
    plugins: tuple[str, ...] = field(default=(), eq=False)
    """The plugins that it is for, in calling order."""
    is_scripted: bool = False
    """Whether scripts run in it, which need the environment that Claude Code gives a command."""

    def group(self) -> dict[str, Any]:
        """Return the matcher group as JSON has it."""
        matcher = {} if self.matcher is None else {"matcher": self.matcher}
        return {**matcher, "hooks": [self.handler()]}

    def handler(self) -> dict[str, Any]:
        """Return the handler as JSON has it."""
        timeout = int(self.timeout) if self.timeout == int(self.timeout) else self.timeout
        failure = {"onFailure": "block"} if self.block_on_failure else {}
        called = {"type": "command", "command": self.command} if self.http is None else self.http
        waking = {"asyncRewake": True} if self.wakes else {}
        return {**called, "timeout": timeout, **failure, **waking}


class RegistrationSource(NamedTuple):
    """A plugin for which Claude Code must call hookrouter."""

    hooks: tuple[str, ...]
    timeout: float
    """Seconds that all its calls in one run may take together."""
    closed: bool
    """Whether it is set to fail closed."""
    waits: Mapping[str, float] = {}
    """The hooks in which it may wait, each with the most seconds that this adds."""
    tools: Mapping[str, Sequence[str]] = {}
    """The hooks that it needs for some tools only: their names, or patterns that Claude Code searches for."""
    matching: Mapping[str, Sequence[str]] = {}
    """The hooks that it needs for some calls only: the values that matchers of their events look at."""
    wakes: frozenset[str] = frozenset()
    """The hooks that may begin a turn of Claude's."""
    name: str = ""
    """The plugin's name."""
    is_script: bool = False
    """Whether it is one of ``[[scripts]]``, for which its plugin is called."""


def wanted_registrations(
    app: Services, front: Front = Front.COLD, *, for_any_client: bool = False, present: Iterable[Entry] = ()
) -> list[Registration]:
    """Return the entries that an environment's plugins need, for the running installation of hookrouter.

    ``for_any_client``: without those that not every client knows, whichever is there. ``present`` are the entries of
    the settings file: those that not every client knows stay if no client is there to be asked.
    """
    home = app.home.root if app.environ.get(HOME_VARIABLE) else None
    script = [*front_words(front, app.home.router), *script_argv()]
    sources = _sources(app) if for_any_client else wanted_sources(app, present)
    wanted = registrations(sources, script, home)
    address = app.config.serve.http
    return http_registrations(wanted, address) if front is Front.HTTP and address else wanted


def wanted_sources(app: Services, present: Iterable[Entry] = ()) -> list[RegistrationSource]:
    """Return the plugins for which the Claude Code that is on PATH must call hookrouter; ``present`` as above."""
    # To ask the client takes longer than all the rest.
    client = found_version(app.environ) if _depends_on_client(app) else None
    return _sources(app, client, () if client is not None else present)


def _sources(
    app: Services, client: tuple[int, ...] | None = None, present: Iterable[Entry] = ()
) -> list[RegistrationSource]:
    """Return the plugins of the home, and those of every project that is trusted: entries are the user's, for all."""
    return [
        source for infos, config in _listings(app) for source in registration_sources(infos, config, client, present)
    ]


def _listings(app: Services) -> list[tuple[list[PluginInfo], Config]]:
    """Return the plugins of the home, and those of each trusted project, each with the config that holds for them."""
    home = [info for info in app.plugins.listing() if not is_project_plugin(info.distribution)]
    found = [(home, app.config)]
    index = tuple(plugin for plugin in app.plugins.index if not is_project_plugin(plugin.distribution))
    for _path, project in trusted_projects(app.home):
        joined, config, own = project.joined(index, app.config)
        settings = resolve_settings(app.home, own, config, project.scope)
        listing = Plugins(joined, config, lambda _plugin, _text: None, settings=settings).listing()
        # What holds the project's rules has to be called for what they are about.
        held = (HOLDING,) if project.rules else ()
        found.append(([info for info in listing if is_project_plugin(info.distribution) or info.name in held], config))
    return found


def _depends_on_client(app: Services) -> bool:
    return any(plugin.if_known or plugin.wakes for infos, _ in _listings(app) for plugin in infos)


def kept_unasked(app: Services, wanted: Sequence[Registration]) -> list[str]:
    """Return the events of entries that are wanted only because they are there: no client says whether it knows them.

    ``wanted`` is what :func:`wanted_registrations` returns.
    """
    if not _depends_on_client(app) or found_version(app.environ) is not None:
        return []
    surely = {(want.event, want.wakes) for want in wanted_registrations(app)}
    return list(dict.fromkeys(want.event for want in wanted if (want.event, want.wakes) not in surely))


def http_registrations(wanted: Iterable[Registration], address: str) -> list[Registration]:
    """Return the registrations with an http hook for each that can be one."""
    found = []
    for want in wanted:
        if can_be_http(want.event, blocks_on_failure=want.block_on_failure, stays=want.wakes or want.is_scripted):
            keys = http_keys(want.event, address)
            found.append(evolve(want, command=keys["url"], http=keys))
        else:
            found.append(want)
    return found


def registration_sources(
    plugins: Iterable[PluginInfo],
    config: Config,
    client: tuple[int, ...] | None = None,
    present: Iterable[Entry] = (),
) -> list[RegistrationSource]:
    """Return the plugins for which Claude Code must call hookrouter.

    The active ones, and broken ones that are set to fail closed: they can only refuse if they are called. Without the
    hooks that need a client that knows their events, or that wakes, if neither ``client``, its version, says that it
    does, nor one of the entries that are ``present``.
    """
    there = {(entry.event, entry.wakes) for entry in present}
    can_wake = (client is not None and client >= WAKING_CLIENT) or any(wakes for _, wakes in there)
    events = {event for event, _ in there}
    known = {record.hook for record in EVENTS.values() if record.name in events or knows(client, record.name)}
    found: list[RegistrationSource] = []
    for plugin in plugins:
        closed = config.plugin(plugin.name).on_error == "closed"
        if plugin.status == PluginStatus.ACTIVE or (plugin.status == PluginStatus.BROKEN and closed):
            hooks = plugin.hooks if plugin.hooks_known else UNKNOWN_HOOKS
            hooks = tuple(hook for hook in hooks if hook not in plugin.if_known or hook in known)
            hooks = tuple(hook for hook in hooks if hook not in plugin.wakes or can_wake)
            found.extend(_script_sources(config, plugin.name, [hook for hook in hooks if hook in plugin.scripted]))
            hooks = tuple(hook for hook in hooks if hook not in plugin.scripted)
            tools = dict.fromkeys(plugin.ruled, ruled_tools(config)) if ruled_tools(config) else {}
            found.append(
                RegistrationSource(
                    *(hooks, plugin.timeout, closed, plugin.waits, tools),
                    matching=plugin.matching,
                    wakes=plugin.wakes,
                    name=plugin.name,
                )
            )
    return found


def _script_sources(config: Config, name: str, hooks: Sequence[str]) -> Iterator[RegistrationSource]:
    """Yield what each of ``[[scripts]]`` whose event's hook is among these needs; the plugin ``name`` runs them."""
    facts = {record.name: record for record in EVENTS.values() if record.hook in hooks}
    for script in config.scripts:
        if (record := facts.get(script.event)) is None:
            continue
        names = listed_names(script.event, script.matcher)
        matching: dict[str, Sequence[str]] = {}
        # Claude Code ignores a matcher of the other events.
        if script.matcher not in ("", "*") and record.matcher is not None:
            matching[record.hook] = [script.matcher] if names is None else [name for name in names if name]
        # All hooks of a session's end share one time, which only one that asks for more makes longer.
        fixed = script.timeout if record.name in _FIXED_TIMEOUTS else script.seconds(record.timeout)
        yield RegistrationSource(
            (record.hook,), fixed, script.on_error == "closed", matching=matching, is_script=True, name=name
        )


def ruled_tools(config: Config) -> tuple[str, ...]:
    """Return the tools whose calls ``[[approvals.rules]]``, or a project's, may be about; ``*`` for every tool.

    Names, and patterns for the tools of a server. An ``[[agents]]`` entry of a person is told of what the rules leave
    to a person, which without a fitting rule is every call.
    """
    if config.approvals.rules and any(agent.enabled and agent.is_person for agent in config.agents):
        return ("*",)
    return tuple(
        dict.fromkeys(
            name
            for rule in (*config.approvals.rules, *config.project_rules.rules)
            for name in tool_names(parse(rule.tool), refuses=rule.decide in ("deny", "person"))
        )
    )


def registrations(plugins: Sequence[RegistrationSource], script: Sequence[str], home: str | None) -> list[Registration]:
    """Return the entries that these plugins need, events in Claude Code's order, so that no call runs hookrouter twice.

    A hook that is about no event needs no entry. An event's own hook (or ``raw_event``) needs every call, so no tool is
    named beside it; exact tool names share one group, but those that a plugin guards which is set to fail closed have
    one of their own; MCP tools have their own too, because one character outside the names makes the whole matcher an
    unanchored expression.

    The timeout leaves room for every plugin to take all of its own, and to wait if it may. ``onFailure`` is set
    for a guard that could not refuse by itself, because the whole program failed (measured on Claude Code 2.1.330: a
    crash, a timeout, a program that cannot be started and a reply of the wrong shape then refuse the call; clients
    that do not know the key, 2.0.76 and 2.1.200, read the file all the same and let the call through).
    """
    wanted: list[Registration] = []
    for word, record in EVENTS.items():
        for wakes in (False, True):
            wanted.extend(_of_event(word, record, plugins, script, home, wakes=wakes))
    return wanted


def _of_event(
    word: str,
    record: EventFacts,
    plugins: Sequence[RegistrationSource],
    script: Sequence[str],
    home: str | None,
    *,
    wakes: bool,
) -> Iterator[Registration]:
    """Return the entries of one event: those of the hooks that may begin a turn, or those of all others."""
    event = record.name
    matchers = _matchers(record)
    seconds = 0.0
    needs: dict[str | None, _Needs] = {}
    for plugin in plugins:
        hooks = [hook for hook in plugin.hooks if hook in matchers and (hook in plugin.wakes) == wakes]
        seconds += plugin.timeout if hooks else 0
        for hook in hooks:
            for narrowed in _narrowed(hook, matchers[hook], plugin, record):
                own = _Needs(plugin.closed, plugin.waits.get(hook, 0.0), plugin.is_script, (plugin.name,))
                needs[narrowed] = needs.get(narrowed, _Needs()).joined(own)
    fixed = event in _FIXED_TIMEOUTS
    asked = max((plugin.timeout for plugin in plugins if plugin.is_script and plugin.hooks[0] in matchers), default=0.0)
    timeout = max(record.timeout, asked) if fixed else max(_MINIMUM_TIMEOUT, seconds + _MARGIN)
    can_block = record.can_block and event not in UNBLOCKED_EVENTS
    command = hook_command(script, home, word, wakes=wakes)
    for matcher, need in _groups(needs):
        yield Registration(
            *(event, matcher, command, timeout if fixed else timeout + need.waits),
            block_on_failure=need.closed and can_block,
            wakes=wakes,
            plugins=tuple(dict.fromkeys(plugin.name for plugin in plugins if plugin.name in need.plugins)),
            is_scripted=need.scripted,
        )


def _narrowed(hook: str, matcher: str | None, plugin: RegistrationSource, event: EventFacts) -> Sequence[str | None]:
    """Return the matchers for one hook of a plugin: one for each tool, or other value, if it needs only some."""
    if hook in plugin.matching:
        return plugin.matching[hook]
    if matcher is not None or hook not in plugin.tools:
        return [matcher]
    tools = plugin.tools[hook]
    if event.name in _FORM_EVENTS:
        return [None] if EVERY_TOOL in tools or _FORM_EVENT in tools else []
    if not event.is_tool:
        return [None]
    own = [tool for tool in tools if tool != _FORM_EVENT]
    return [None] if EVERY_TOOL in own else own


class _Needs(NamedTuple):
    """What the plugins behind one matcher need of its registration."""

    closed: bool = False
    """Whether one of them is set to fail closed."""
    waits: float = 0.0
    """Seconds that they may wait together."""
    scripted: bool = False
    """Whether one of them is a script."""
    plugins: tuple[str, ...] = ()
    """Their names."""

    def joined(self, *others: _Needs) -> _Needs:
        """Return what these need together."""
        every = (self, *others)
        names = tuple(name for need in every for name in need.plugins)
        closed, scripted = any(need.closed for need in every), any(need.scripted for need in every)
        return _Needs(closed, sum(need.waits for need in every), scripted, names)


def _groups(needs: Mapping[str | None, _Needs]) -> list[tuple[str | None, _Needs]]:
    """Join matchers into as few groups as they need: of exact tool names those that need the same."""
    together = _Needs().joined(*needs.values())
    if None in needs:
        return [(None, together)]
    if not all(_SIMPLE.fullmatch(name) for name in needs if name is not None):
        # Of an expression it is not known which calls others take too. Claude Code starts what several entries have in
        # common once (2.1.332), and it must not matter which of them that is.
        needs = dict.fromkeys(needs, together)
    named = _merged({name: need for name, need in needs.items() if name is not None})
    groups: list[tuple[str | None, _Needs]] = []
    exact = {name: need for name, need in named.items() if _EXACT.fullmatch(name)}
    for alike in sorted({need[:3] for need in exact.values()}):
        names = sorted(name for name, need in exact.items() if need[:3] == alike)
        plugins = tuple(plugin for name in names for plugin in exact[name].plugins)
        groups.append(("|".join(names), _Needs(*alike, plugins)))
    # One character outside the names makes the whole matcher an expression, so each has a group of its own.
    groups += [(name, named[name]) for name in sorted(named) if not _EXACT.fullmatch(name)]
    return groups


def _merged(needs: Mapping[str, _Needs]) -> dict[str, _Needs]:
    """Give what a pattern takes to that pattern, so that no call starts hookrouter twice.

    Of the patterns only those are looked at that are the beginning of names, with ``.*`` behind it.
    """
    patterns = sorted((name for name in needs if not _EXACT.fullmatch(name) and _SIMPLE.fullmatch(name)), key=len)
    merged: dict[str, _Needs] = {}
    for name, need in needs.items():
        beginning = name.removesuffix(".*")
        home = next((one for one in patterns if beginning.startswith(one.removesuffix(".*"))), name)
        merged[home] = merged.get(home, _Needs()).joined(need)
    return merged


def _matchers(event: EventFacts) -> dict[str, str | None]:
    """Return the hooks that calls of an event concern, each with the narrowest matcher for those calls."""
    tools = {**{tool: tool for tool in TOOLS}, "mcp__server__tool": MCP_MATCHER}
    found: dict[str, str | None] = {hook_names(event.name, tool)[0]: matcher for tool, matcher in tools.items()}
    # Last, because on an event that is about no tool all of the names above are the event's own hook.
    for hook in hook_names(event.name):
        if hook != RAW_HOOK or event.name not in REPLACING_EVENTS:
            found[hook] = None
    return found
