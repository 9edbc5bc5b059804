"""All resident processes of a home, as the router keeps them: its own, and those that plugins contribute."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookrouter._plugins.discovery import load_index, resolve_settings
from hookrouter._plugins.index import read_cache, read_fresh
from hookrouter._plugins.registry import Plugins
from hookrouter._serving import address
from hookrouter._serving.delivery import fork_apart
from hookrouter._serving.home_config import load_config
from hookrouter._serving.kept_process import KeptProcess
from hookrouter._serving.kept_sockets import KeptSockets
from hookrouter.serving.log import say
from hookrouter.serving.resident import Place, ResidentProcess
from hookrouter.util import fastjson
from hookrouter.util.text import describe_error, describe_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence

    from hookrouter._plugins.index import DiscoveredPlugin
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.storage.home import Home

__all__ = ["INHERIT_VARIABLE", "KeptProcesses", "checked", "contributed", "faults", "in_places", "place_of"]

INHERIT_VARIABLE = "HOOKROUTER_SERVE_INHERIT_KEPT"
"""Holds, as JSON, the descriptors that a router hands to the one that takes its place: by process, and by place."""

HOOK = "resident_process"

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z", re.ASCII)


class KeptProcesses:
    """The resident processes of one home; their parent is the process that makes this."""

    def __init__(self, home: Home, environ: MutableMapping[str, str], own: Sequence[ResidentProcess]) -> None:
        """``own`` are those that no plugin contributes.

        What a former router has handed over is taken out of ``environ``. Nothing is started.
        """
        self._home = home
        inherited: Any = fastjson.loads(environ.pop(INHERIT_VARIABLE, "{}"))
        self._inherited: dict[str, dict[str, int]] = inherited
        self._own = {
            one.name: KeptProcess(one, home.router, self._inherited.pop(one.name, {}), may_name_sockets=True)
            for one in own
        }
        self._reserved = frozenset((*address.RESERVED, *self._own))
        self._contributed: dict[str, tuple[str, KeptProcess]] = {}
        """By name, each with its plugin."""
        self._plugins: Plugins | None = None
        self._known: tuple[tuple[DiscoveredPlugin, ...], Config] | None = None
        """The plugins and the config for which plugins were asked."""
        self._told: set[str] = set()
        self._scan = 0
        """The process that looks which plugins are installed; 0 if none does."""

    def start(self) -> None:
        """Begin. If it is not known which plugins are installed, that is found out apart: it takes a second."""
        with suppress(OSError):
            if read_fresh(self._home) is None:
                self._scan = fork_apart(os.environ, self._home, lambda: load_index(self._home, os.environ))
        self.tend()

    def tend(self) -> None:
        """Have run what is to run, as the configuration and the plugins are now. Raises nothing."""
        config = load_config(self._home)
        self._ask_plugins(config)
        for one in self._own.values():
            one.tend(Place(home=self._home, config=config))
        for plugin, one in self._contributed.values():
            one.tend(place_of(self._home, config, self._plugins, plugin))

    def next_due(self) -> float:
        """Return in how many seconds :meth:`tend` has something to do; infinity if it is left to the regular looks."""
        return min((one.next_due() for one in self._all()), default=float("inf"))

    def awaited(self) -> list[int]:
        """Return the descriptors of which one becomes readable when a process is to begin."""
        return [number for one in self._all() for number in one.awaited()]

    def begin(self, ready: set[int]) -> None:
        """Start those of which somebody connects to a socket. Raises nothing."""
        for one in self._all():
            if not ready.isdisjoint(one.awaited()):
                one.begin()

    def ended(self, pid: int, exit_code: int) -> bool:
        """Note that a child has ended; return whether it was one of them."""
        if pid == self._scan:
            self._scan = 0
            self.tend()
            return True
        return any(one.ended(pid, exit_code) for one in self._all())

    @property
    def are_used(self) -> bool:
        """Whether somebody is connected, or was a moment ago, to one that runs for those who connect."""
        return any(one.pid and one.waits_for_connection for one in self._all())

    def stop(self) -> None:
        """Have all of them end, and forget them."""
        for one in self._all():
            one.stop()

    def status(self) -> dict[str, dict[str, Any] | None]:
        """Return what the router's status says of each, by its name."""
        return {one.name: one.status() for one in self._all()}

    def hand_over(self) -> dict[str, str]:
        """Let the program that takes the place of this one have the sockets; return the variable that tells it."""
        return {INHERIT_VARIABLE: fastjson.dumps({one.name: one.hand_over() for one in self._all()})}

    def let_go(self) -> None:
        """Close the sockets in this process alone."""
        for one in self._all():
            one.let_go()

    def remove(self) -> None:
        """Close the sockets, and remove the files of those that are still ours."""
        for one in self._all():
            one.remove()

    def _all(self) -> Iterator[KeptProcess]:
        yield from self._own.values()
        for _, one in self._contributed.values():
            yield one

    def _ask_plugins(self, config: Config) -> None:
        """Ask the plugins what they contribute, if other ones are active than when they were asked last."""
        try:
            index = read_cache(self._home)
            if self._known is not None and self._known[0] is index and self._known[1] is config:
                return
            plugins = Plugins(index, config, self._report)
            names = {info.name for info in plugins.listeners([HOOK])}
            if names:
                declaring = [plugin for plugin in index if plugin.name in names]
                plugins = Plugins(index, config, self._report, settings=resolve_settings(self._home, declaring, config))
            found = contributed(plugins, self._report, self._reserved) if names else {}
        except OSError:
            # No descriptor is left at this moment, to read by or to import: they are asked with the next look.
            return
        self._known, self._plugins = (index, config), plugins
        for name, (plugin, one) in list(self._contributed.items()):
            if name not in found or found[name][0] != plugin:
                one.stop()
                one.remove()
                del self._contributed[name]
        for name, (plugin, process) in found.items():
            if name not in self._contributed:
                kept = KeptProcess(process, self._home.router, self._inherited.pop(name, {}))
                self._contributed[name] = plugin, kept
        if index:
            self._close_left()

    def _close_left(self) -> None:
        """Close what a former router has handed over for processes that there are no more."""
        for numbers in self._inherited.values():
            KeptSockets(self._home.router, numbers).remove()
        self._inherited = {}

    def _report(self, plugin: str, text: str) -> None:
        line = f"plugin {plugin}: {text}"
        if line not in self._told:
            say(line, event=HOOK)
        self._told.add(line)


def place_of(home: Home, config: Config, plugins: Plugins | None, plugin: str) -> Place:
    """Return what a plan of a plugin's process is made from."""
    if plugins is None:
        return Place(home=home, config=config)
    own = plugins.own_settings(plugin)
    problems = () if own is None else own.faults
    return Place(home=home, config=config, settings=plugins.settings(plugin), problems=problems)


def faults(app: Services) -> Iterator[tuple[str, str]]:
    """Yield what keeps people from what resident processes do, each with its key of config.toml. Raises nothing."""
    for process, place in in_places(app):
        try:
            yield from [(str(key), str(text)) for key, text in process.faults(place)]
        except Exception as error:  # noqa: BLE001 - it is a plugin's, and others have something to say too
            yield "", f"{process.name}: its faults() failed: {describe_error(error)}"


def in_places(app: Services) -> Iterator[tuple[ResidentProcess, Place]]:
    """Yield the resident processes of active plugins, each with what a plan of it would be made from."""
    for plugin, process in contributed(app.plugins, lambda _plugin, _text: None).values():
        yield process, place_of(app.home, app.config, app.plugins, plugin)


def contributed(
    plugins: Plugins, report: Callable[[str, str], None], reserved: Iterable[str] = ()
) -> dict[str, tuple[str, ResidentProcess]]:
    """Return the resident processes that active plugins contribute, by name, each with its plugin.

    ``report(plugin, what is wrong)`` hears of those that cannot be used.
    """
    found: dict[str, tuple[str, ResidentProcess]] = {}
    for plugin, given in plugins.collect("resident_process"):
        if not isinstance(given, list | tuple):
            report(plugin, f"{HOOK}() returned {describe_value(given)}, which is no list")
            continue
        for one in given:
            problem = checked(one)
            if not problem and (one.name in reserved or one.name in found):
                problem = f"the name {one.name!r} is taken"
            if problem:
                report(plugin, f"{HOOK}(): {problem}")
            else:
                found[one.name] = plugin, one
    return found


def checked(process: object) -> str:
    """Return why something cannot be kept as a resident process; empty if it can."""
    if not isinstance(process, ResidentProcess):
        return f"{describe_value(process)} is no ResidentProcess"
    try:
        name, target = _name_and_target(process)
    except Exception as error:  # noqa: BLE001 - it is a plugin's, and this is the router
        return f"{describe_value(process)} does not say its name and target: {describe_error(error)}"
    if not (isinstance(name, str) and _NAME.match(name)):
        return f"the name {describe_value(name)} is not of lower-case letters, digits and hyphens"
    if not (isinstance(target, str) and _TARGET.match(target)):
        return f"{name}: the target {describe_value(target)} is not 'module:function'"
    return ""


def _name_and_target(process: ResidentProcess) -> tuple[object, object]:
    return process.name, process.target
