"""Fires hook events at plugins, as Claude Code does: through the real router in this process, or the real program.

The pytest fixture ``hooks`` is a :class:`Hooks` over an empty home.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import subprocess
import sys
import threading
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from hookrouter import _wiring
from hookrouter._config import cache as config_cache
from hookrouter._contract.hook_names import command_word, hook_names
from hookrouter._inspection.inspector import matching, own_table, waking
from hookrouter._inspection.validation import declared_timeout, validate
from hookrouter._isolation.containment import WROTE, Containment
from hookrouter._plugins.discovery import load_index, resolve_settings
from hookrouter._plugins.files import PACKAGE, import_file
from hookrouter._plugins.index import NOT_INSTALLED, DiscoveredPlugin, declared_tables
from hookrouter._plugins.manager import implementations, is_wrapper
from hookrouter._plugins.registry import Plugins
from hookrouter._plugins.settings_schema import check as check_settings
from hookrouter._plugins.settings_schema import declared
from hookrouter._routing.hook_run import AFTER_REPLY_SECONDS
from hookrouter._routing.router import route
from hookrouter.context import Context
from hookrouter.markers import ENTRY_POINT_GROUP, is_scripted, waiting
from hookrouter.messaging.gateway import gateways
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.journal import FAILURES, Journal
from hookrouter.terminals import TerminalAddress
from hookrouter.testing._payloads import closest, payload_of
from hookrouter.util.program import script_argv
from hookrouter.util.signatures import signature_of
from hookrouter.util.time_limit import PluginTimeout, describe_in_time, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from hookrouter._plugins.index import OwnSettings
    from hookrouter.config import Config
    from hookrouter.messaging.gateway import Message
    from hookrouter.storage.home import Home

__all__ = ["HookCall", "HookResult", "Hooks", "PluginFailed"]

# Functions that tests call set __tracebackhide__, so that pytest shows the test's line and not the kit's.

_TIMEOUT = 60.0


def failures(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return one line for each call that failed, left something changed, or was not made, of the journal's entries.

    What a plugin printed is no failure: it goes to a log.
    """
    lines = []
    for record in records:
        where = f"{record['plugin']}: {{}} in {record['hook']}"
        left = [what for what in record.get("left", ()) if what != WROTE]
        if record.get("error"):
            lines.append(f"{where.format(record['outcome'])}: {record['error']}")
        elif record["outcome"] in (*FAILURES, "switched off"):
            lines.append(where.format(record["outcome"]))
        if left:
            lines.append(where.format(", ".join(left)))
    return lines


class PluginFailed(AssertionError):
    """A plugin raised, hung, returned the wrong thing or left something changed; the message names plugin and hook.

    Its cause is the plugin's own exception, if there was one in this process.
    """


class HookCall(NamedTuple):
    """One call of one hook implementation, as the implementation saw it."""

    plugin: str
    """The plugin's name."""
    hook: str
    """The hook's name, such as ``pre_tool_use_bash``."""
    arguments: Mapping[str, Any]
    """By name, as the hook's signature has them: ``event``, ``tool_input``, ``context`` and so on."""
    result: object
    """What it returned; None if it raised. Of a wrapper, what it made of the replies."""
    error: BaseException | None
    """What it raised; None if it returned."""


@attrs.frozen(kw_only=True)
class HookResult:
    """What came of one fired event."""

    event: str
    """The event's name, for example ``PreToolUse``."""
    payload: Mapping[str, Any]
    """What the plugins got, before any of them changed its input."""
    stdout: str
    """What Claude Code reads: one JSON document, the plain text that some events take, or nothing."""
    stderr: str = ""
    exit_code: int = 0
    by: tuple[str, ...] = ()
    """The plugins that gave the decision."""
    records: tuple[Mapping[str, Any], ...] = ()
    """One for each call of a plugin, as the journal keeps it: ``plugin``, ``hook``, ``outcome``, ``ms``, ``error``."""
    journal: Mapping[str, Any] = attrs.field(factory=dict)
    """The journal record of the run, with what :meth:`hookrouter.Context.note` added."""
    calls: tuple[HookCall, ...] = ()
    """The calls in this process with their arguments and results; none if a process of its own ran them."""
    delivery_started: bool = False
    """Whether a plugin asked for the outbox to be delivered; in this process :meth:`Hooks.deliver` does it."""

    @functools.cached_property
    def output(self) -> dict[str, Any]:
        """The JSON document on stdout; empty if there is none."""
        try:
            document = json.loads(self.stdout)
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def specific(self) -> dict[str, Any]:
        """``hookSpecificOutput``; empty if there is none."""
        found = self.output.get("hookSpecificOutput")
        return found if isinstance(found, dict) else {}

    @property
    def decision(self) -> str | None:
        """What Claude Code is told: ``allow``, ``deny``, ``ask``, ``block``, ``halt`` and so on; None if nothing."""
        if self.output.get("continue") is False:
            return "halt"
        behavior = self._permission.get("behavior")
        found = self.specific.get("permissionDecision") or behavior or self.specific.get("action")
        found = found or self.output.get("decision") or ("block" if self.exit_code == 2 else None)
        return found if isinstance(found, str) else None

    @property
    def reason(self) -> str:
        """The reason of the decision; empty if there is none."""
        places = (
            self.output.get("stopReason"),
            self.specific.get("permissionDecisionReason"),
            self._permission.get("message"),
            self.output.get("reason"),
            self.stderr.strip(),
        )
        return next((place for place in places if isinstance(place, str) and place), "")

    @property
    def updated_input(self) -> dict[str, Any] | None:
        """The tool input that takes the place of Claude's; None if it stays."""
        found = self.specific.get("updatedInput", self._permission.get("updatedInput"))
        return found if isinstance(found, dict) else None

    @property
    def context(self) -> str:
        """What Claude is told besides (``additionalContext``); empty if it is told nothing."""
        found = self.specific.get("additionalContext")
        return found if isinstance(found, str) else ""

    @property
    def system_message(self) -> str:
        """What the user is shown; empty if nothing is."""
        found = self.output.get("systemMessage")
        return found if isinstance(found, str) else ""

    @property
    def failures(self) -> tuple[str, ...]:
        """One line for each plugin that failed, with the hook and what went wrong."""
        return (*failures(self.records), *(str(warning) for warning in self.journal.get("warnings", ())))

    def of(self, plugin: str) -> tuple[Mapping[str, Any], ...]:
        """Return the records of one plugin."""
        return tuple(record for record in self.records if record["plugin"] == plugin)

    @property
    def _permission(self) -> dict[str, Any]:
        found = self.specific.get("decision")
        return found if isinstance(found, dict) else {}


class _Context(Context):
    """A context whose deliveries stay in this process, and in which what follows the reply fails the test."""

    delivery_started = False
    late: BaseException | None = None
    """What a function raised that was to follow the reply; None if none did."""

    def _failed_late(self, plugin: str, error: BaseException) -> None:
        self.late = self.late or error
        self.warn(f"{plugin}: failed in what was to follow its reply: {describe_in_time(error)}")

    def start_delivery(self, *, after_reply: bool = False) -> None:  # noqa: ARG002 - nothing is started
        """Note that somebody asked."""
        self.delivery_started = True


class _Watched:
    """A plugin whose implementations are noted when they are called, and everything else of which is as it was."""

    def __init__(self, name: str, plugin: object, note: Callable[[HookCall], None]) -> None:
        self._plugin = plugin
        self._hooks = implementations(plugin)
        for hook, function in self._hooks.items():
            watch = _watch_wrapper if is_wrapper(function) else _watch
            vars(self)[hook] = functools.update_wrapper(watch(name, hook, function, note), function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugin, name)

    def __dir__(self) -> list[str]:
        return list(self._hooks)


def _watch(
    plugin: str, hook: str, function: Callable[..., Any], note: Callable[[HookCall], None]
) -> Callable[..., Any]:
    signature = signature_of(function)

    def watched(*given: Any, **named: Any) -> Any:
        arguments = signature.bind(*given, **named).arguments
        try:
            result = function(*given, **named)
        except BaseException as error:
            note(HookCall(plugin, hook, arguments, None, error))
            raise
        note(HookCall(plugin, hook, arguments, result, None))
        return result

    return watched


def _watch_wrapper(
    plugin: str, hook: str, function: Callable[..., Any], note: Callable[[HookCall], None]
) -> Callable[..., Any]:
    signature = signature_of(function)

    def watched(*given: Any, **named: Any) -> Generator[Any, Any, Any]:
        arguments = signature.bind(*given, **named).arguments
        try:
            result = yield from function(*given, **named)
        except GeneratorExit:
            raise
        except BaseException as error:
            note(HookCall(plugin, hook, arguments, None, error))
            raise
        note(HookCall(plugin, hook, arguments, result, None))
        return result

    return watched


class Hooks:
    """Plugins in a home of their own, and what Claude Code would hear from them.

    Give it plugins with :meth:`add` or :meth:`use_installed`, then :meth:`fire` events at them. Nothing of the user's
    is read or written, and the process's environment must not be the user's either: the fixture sees to that.
    """

    def __init__(self, home: Home) -> None:
        """Use ``home``, which need not exist, with no plugin."""
        self.home = home
        self.calls: list[HookCall] = []
        """Every call of an implementation so far, oldest first."""
        self.problems: list[str] = []
        """What was wrong with documents in the outbox, which were set aside."""
        self._found: dict[str, DiscoveredPlugin] = {}
        self._classes: dict[str, type[Any]] = {}
        self._objects: dict[str, object] = {}

    def configure(self, text: str) -> Config:
        """Write ``text`` as config.toml, and return what it says.

        Raises ValueError if it has a mistake; one in a plugin's own settings shows when an event is fired. A plugin
        with a table of its own is added before.
        """
        __tracebackhide__ = True
        os.makedirs(self.home.root, mode=0o700, exist_ok=True)
        descriptor = os.open(self.home.config_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(inspect.cleandoc(text) + "\n")
        config = self._config()
        if config.problems:
            raise ValueError("config.toml: " + "; ".join(config.problems))
        return config

    def add(self, plugin: object, name: str | None = None) -> str:
        """Add a plugin: an object, a class (made without arguments, as hookrouter does) or a module. Return its name.

        A path is that of a plugin which is one file, as ``hookrouter plugins add`` takes it.
        ``name`` is what config.toml calls it: by default the name of the entry point that announces it in this
        environment, else its own in kebab case. Raises pluggy.PluginValidationError for a hook that does not exist,
        or takes arguments that do not, and for a wrong ``hookrouter_timeout``, and ValueError if the name is taken.
        """
        __tracebackhide__ = True
        if isinstance(plugin, str | os.PathLike):
            plugin = _imported(os.path.abspath(plugin))
        name = name or _installed_name(plugin) or _own_name(plugin)
        if name in self._found:
            raise ValueError(f"there is a plugin {name!r} already; give this one another name")
        made = plugin() if isinstance(plugin, type) else plugin
        known = validate(name, made)
        waits = {hook: how for hook, function in known.items() if (how := waiting(function))}
        found = DiscoveredPlugin(
            name=name,
            value=f"{type(made).__module__}:{type(made).__qualname__}",
            hooks=tuple(sorted(known)),
            waits=tuple((hook, how.seconds, how.setting) for hook, how in sorted(waits.items())),
            scripted=tuple(hook for hook, function in known.items() if is_scripted(function)),
            matching=tuple(matching(known)),
            wakes=tuple(waking(known)),
            timeout=declared_timeout(made),
            settings=self._declared(name, made),
            table=own_table(known),
        )
        return self._keep(found, made)

    def use_installed(self, *names: str) -> None:
        """Add plugins that are installed in this environment, by name.

        Raises ValueError if there is none of a name, or it is broken; the message says why.
        """
        __tracebackhide__ = True
        index = {plugin.name: plugin for plugin in load_index(self.home, os.environ) if plugin.error != NOT_INSTALLED}
        for name in names:
            if name not in index:
                raise ValueError(f"no plugin {name!r} is installed here{closest(name, index)}")
            if index[name].error:
                raise ValueError(f"the plugin {name!r} is broken: {index[name].error}")
            from hookrouter._plugins.manager import load_object

            self._keep(index[name], load_object(index[name].value))

    def fire(
        self,
        event: str | Mapping[str, Any],
        /,
        tool: str | None = None,
        *,
        session: str | None = None,
        environ: Mapping[str, str] | None = None,
        check: bool = True,
        **changes: Any,
    ) -> HookResult:
        """Fire one event at the plugins, in this process, through hookrouter's router.

        ``event`` is an event's name, whose sample payload is then sent (:func:`hookrouter.testing.sample`,
        which ``tool`` is for), or a whole payload, which is fired as it is if hookrouter would call plugins for it.
        ``changes`` take the place of the payload's fields; None takes one away.
        ``session`` is the terminal session's name; without it the session is outside every terminal. ``environ`` is
        added to the environment that plugins see in their context. What a plugin may wait for is waited for here too.

        What plugins have asked for with ``context.after_reply`` is done, too, before this returns.

        Raises PluginFailed if a plugin did not do what it should, unless ``check`` is False; ValueError for a
        payload that Claude Code would not send, or if there is no plugin; RuntimeError outside of the main thread,
        where no time limit works.
        """
        __tracebackhide__ = True
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("fire() works in the main thread only, because time limits need it; use fire_process()")
        if not self._objects:
            raise ValueError("there is no plugin to fire at; use hooks.add(...) or hooks.use_installed(...) first")
        payload = payload_of(event, tool, changes)
        name = payload["hook_event_name"]
        warnings: list[str] = []
        record: dict[str, Any] = {"event": name, "warnings": warnings}
        plugins = self._plugins(lambda plugin, text: warnings.append(f"{plugin}: {text}"))
        context = _Context(
            event=name,
            payload=payload,
            home=self.home,
            config=plugins.all_config,
            environ={**os.environ, **(environ or {})},
            plugins=plugins,
            journal=Journal(self.home.logs),
            wiring=_wiring,
            record=record,
        )
        if session is not None:
            vars(context)["terminal"] = TerminalAddress("fake", session, "%0", "")
        first = len(self.calls)
        containment = Containment()
        try:
            hooks = hook_names(name, payload.get("tool_name"))
            routed = route(plugins, hooks, payload, context, containment=containment)
            try:
                with time_limit(AFTER_REPLY_SECONDS):
                    context.reply_written()
            except PluginTimeout as error:
                context._failed_late(context.caller, error)
        finally:
            containment.close()
        output = routed.output
        result = HookResult(
            event=name,
            payload=payload,
            stdout=output.stdout,
            stderr=output.stderr,
            exit_code=output.exit_code,
            by=tuple(output.by.split(", ")) if output.by else (),
            records=tuple(routed.calls),
            journal=record,
            calls=tuple(self.calls[first:]),
            delivery_started=context.delivery_started,
        )
        if check:
            self._check(result, context.late)
        return result

    def fire_process(
        self,
        event: str | Mapping[str, Any],
        /,
        tool: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        check: bool = True,
        **changes: Any,
    ) -> HookResult:
        """Fire one event through the real ``hookrouter run``, at every plugin that is installed in this environment.

        For the arguments and errors see :meth:`fire`. Plugins given to :meth:`add` take no part, unless they are
        installed too: then they must be, so ValueError if one is not.
        """
        __tracebackhide__ = True
        index = {plugin.name: plugin for plugin in load_index(self.home, os.environ) if plugin.error != NOT_INSTALLED}
        for name in self._objects:
            if name not in index and not (environ or {}).get("PYTHONPATH"):
                raise ValueError(f"hookrouter run finds only what is installed, and the plugin {name!r} is not")
        payload = payload_of(event, tool, changes)
        before = self.journal()
        done = subprocess.run(
            [*script_argv(), "run", command_word(payload["hook_event_name"])],
            input=json.dumps(payload),
            env={**os.environ, "HOOKROUTER_HOME": self.home.root, **(environ or {})},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        new = [record for record in self.journal() if record not in before]
        written = [record for record in new if "ms" in record]
        journal = written[-1] if written else {}
        # What fails after the reply is told in records of its own.
        late = [record["reason"] for record in new if "ms" not in record and record.get("event") and "reason" in record]
        if late:
            journal = {**journal, "warnings": [*journal.get("warnings", ()), *late]}
        result = HookResult(
            event=payload["hook_event_name"],
            payload=payload,
            stdout=done.stdout,
            stderr=done.stderr,
            exit_code=done.returncode,
            by=tuple(str(journal["by"]).split(", ")) if journal.get("by") else (),
            records=tuple(journal.get("plugins", ())),
            journal=journal,
        )
        if check:
            if not journal:
                raise PluginFailed(f"hookrouter run ended with {done.returncode} and no journal record: {done.stderr}")
            self._check(result)
        return result

    def journal(self) -> list[dict[str, Any]]:
        """Return the journal records of this home, oldest first; :meth:`fire` in this process writes none."""
        records = []
        for name in sorted(os.listdir(self.home.logs)) if os.path.isdir(self.home.logs) else []:
            if name.endswith(".jsonl"):
                with open(os.path.join(self.home.logs, name), encoding="utf-8") as file:
                    records += [json.loads(line) for line in file if line.endswith("\n") and line.strip()]
        return sorted(records, key=lambda record: str(record.get("at", "")))

    def messages(self) -> list[Message]:
        """Return the messages to agents that wait in the outbox, oldest first."""
        return [message.for_gateway(message.gateway) for message in self._outbox().pending()]

    def deliver(self, *, now: bool = False) -> None:
        """Give the messages in the outbox that are due to the gateways of the plugins, in this process.

        After a failure a message is due when a random wait is over. With ``now`` those that wait so are tried at once.
        What a gateway could not deliver stays, see :meth:`messages`. Raises PluginFailed if a plugin does not
        contribute a gateway as it should.
        """
        from hookrouter.messaging.delivery.deliverer import Deliverer

        problems: list[str] = []
        plugins = self._plugins(lambda plugin, text: problems.append(f"{plugin}: {text}"))
        offered = gateways(plugins)
        if problems:
            raise PluginFailed("; ".join(problems))
        if now:
            outbox = self._outbox()
            for message in outbox.pending():
                outbox.hurry(message.id)
        Deliverer(self._outbox(), plugins.all_config, offered, Journal(self.home.logs)).deliver_due()

    def _outbox(self) -> Outbox:
        return Outbox(self.home, self.problems.append)

    def _plugins(self, report: Callable[[str, str], None]) -> Plugins:
        __tracebackhide__ = True
        config = self._config()
        if config.problems:
            raise ValueError("config.toml: " + "; ".join(config.problems))
        # The classes of added plugins may be ones that no other process can import.
        elsewhere = [found for name, found in self._found.items() if name not in self._classes]
        settings = resolve_settings(self.home, elsewhere, config)
        for name, kind in self._classes.items():
            settings[name] = check_settings(kind, config.plugin(name).settings, self._found[name].settings_key)
        plugins = Plugins(self._found.values(), config, report, self._objects, settings=settings)
        for info, text in plugins.with_invalid_settings():
            report(info.name, f"its settings are wrong, and none of them is used: {text}")
        return plugins

    def _config(self) -> Config:
        return config_cache.load(self.home, tables=lambda: declared_tables(self._found.values()))

    def _declared(self, name: str, plugin: object) -> OwnSettings | None:
        """Return what is known of the settings class of a plugin, and keep the class; None if it declares none."""
        declare = implementations(plugin).get("plugin_settings")
        kind = None if declare is None else declared(declare())
        if kind is None:
            return None
        self._classes[name] = kind
        return check_settings(kind, {}, own_table(implementations(plugin)) or f"plugins.{name}.settings")

    def _keep(self, found: DiscoveredPlugin, plugin: object) -> str:
        self._found[found.name] = found
        config_cache.forget(self.home, declared_tables(self._found.values()))
        self._objects[found.name] = _Watched(found.name, plugin, self.calls.append)
        return found.name

    def _check(self, result: HookResult, late: BaseException | None = None) -> None:
        __tracebackhide__ = True
        if not result.failures:
            return
        lines = "".join(f"\n  {line}" for line in result.failures)
        error = next((call.error for call in result.calls if call.error is not None), late)
        raise PluginFailed(
            f"{result.event} was fired, and not every plugin did its part:{lines}\n"
            "(fire(..., check=False) returns the result anyway)"
        ) from error


def _imported(path: str) -> object:
    """Import a plugin's file, although another test has imported it, or one of its name in another folder."""
    other = getattr(sys.modules.get(PACKAGE), "__path__", None) != [os.path.dirname(path)]
    own = f"{PACKAGE}.{os.path.splitext(os.path.basename(path))[0]}"
    stale = f"{PACKAGE}." if other else f"{own}."
    for name in [name for name in sys.modules if f"{name}.".startswith(stale)]:
        del sys.modules[name]
    return import_file(path)


def _own_name(plugin: object) -> str:
    if isinstance(plugin, ModuleType):
        package, _, name = plugin.__name__.rpartition(".")
        return name if package == PACKAGE else name.replace("_", "-")
    return command_word((plugin if isinstance(plugin, type) else type(plugin)).__name__)


def _installed_name(plugin: object) -> str | None:
    """Return the name of the entry point that announces this plugin, if it is installed."""
    if isinstance(plugin, ModuleType):
        wanted = plugin.__name__
    else:
        kind = plugin if isinstance(plugin, type) else type(plugin)
        wanted = f"{kind.__module__}:{kind.__qualname__}"
    return next((entry.name for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.value == wanted), None)
