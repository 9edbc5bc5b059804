"""The slow half of discovery: read the installed entry points and find out what each plugin implements.

Plugins are imported in a child process. One that crashes the interpreter or hangs at import is reported as broken and
the others are still found; nothing that a plugin does at import reaches the process that asked. A distribution whose
metadata cannot be read is no reason to find none.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoint, distributions
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._config.cache import forget
from hookrouter._contract.hook_names import concerns
from hookrouter._contract.tables import EVENTS
from hookrouter._plugins.files import copy_folder, is_file, plugin_files
from hookrouter._plugins.index import (
    NOT_INSTALLED,
    NOTHING_KNOWN,
    DiscoveredPlugin,
    OwnSettings,
    declared_tables,
    environment_key,
    file_stamp,
    read_cache,
    write_cache,
    write_scanned,
)
from hookrouter.config import NO_PLUGINS
from hookrouter.markers import ENTRY_POINT_GROUP
from hookrouter.storage.own_file import is_out_of_means
from hookrouter.util.text import describe_error
from hookrouter.util.value import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.metadata import Distribution

    from hookrouter.storage.home import Home

__all__ = ["IMPORT_SECONDS", "SCAN_SECONDS", "check_settings", "look_into", "scan", "scan_copy"]

IMPORT_SECONDS = 10.0
"""How long the import of one plugin may take before it counts as hanging."""

SCAN_SECONDS = 45.0
"""How long all imports together may take; the plugins that are not reached count as broken."""


class _Announced(NamedTuple):
    """A plugin name, and every distribution that announces it."""

    name: str
    value: str
    distributions: tuple[str, ...]
    version: str
    files: tuple[str, ...]
    """The metadata files that announce it."""


def scan(home: Home) -> tuple[DiscoveredPlugin, ...]:
    """Scan the environment, save the index and return the plugins in order of their names.

    A plugin that is broken now, or shows no hooks, keeps those that the last good index knew of it, and which of their
    calls they are about, so that one that is set to fail closed still guards the same calls. So does one that is gone:
    it comes after the others.
    """
    key = environment_key(home)
    announced = _with_files(_announced(), plugin_files(home.plugins))
    known = {plugin.name: plugin for plugin in read_cache(home)}
    plugins = []
    tables: dict[str, str] = {}
    for plugin, description in zip(
        announced, _describe([(item.name, item.value, {}) for item in announced]), strict=True
    ):
        hooks, error = description["hooks"], description["error"]
        if len(plugin.distributions) > 1:
            # Which of them would run depends on the order of folders, so none does.
            error = f"{', '.join(plugin.distributions)} all have a plugin of this name: uninstall or rename all but one"
            hooks = None
        if (table := description["table"]) and (other := tables.setdefault(table, plugin.name)) != plugin.name:
            error, table = f"config_table() returned {table!r}, which is the table of the plugin {other}", ""
        if plugin.name in NO_PLUGINS:
            error = f"a plugin cannot be called {plugin.name}, which is a key of [plugins] in config.toml"
        former = known.get(plugin.name)
        found, former_hooks = _discovered(
            plugin, {**description, "hooks": hooks, "table": table, "error": error}, former
        )
        if former is not None and former_hooks and former.table:
            is_its = tables.setdefault(former.table, former.name) == former.name
            found = found._with(table=former.table) if is_its else found
        plugins.append(found)
    names = {plugin.name for plugin in announced}
    gone = [known[name] for name in sorted(known) if name not in names and known[name].known_hooks]
    plugins += [
        # Without its settings it cannot be known in which hooks it does not wait: it has all of them.
        plugin._with(
            hooks=plugin.known_hooks, former_hooks=(), error=NOT_INSTALLED, files=(), hints=(), settings=None, waits=()
        )
        for plugin in gone
    ]
    result = tuple(plugins)
    write_cache(home, result, key)
    forget(home, declared_tables(result))
    return result


def scan_copy(home: Home, tree: str, known: Sequence[DiscoveredPlugin]) -> tuple[DiscoveredPlugin, ...]:
    """Scan the copy of a project's own plugins, save what was found and return it, by name.

    ``known`` is what was found when it was trusted: what is broken now, or gone, guards what it did then. A project's
    plugin has the hooks of events; what plugins contribute is for those of the home.
    """
    files = dict(plugin_files(copy_folder(home, tree)))
    announced = [_Announced(name, path, (path,), "", ()) for name, path in files.items()]
    former, plugins = {plugin.name: plugin for plugin in known}, []
    for plugin, description in zip(
        announced, _describe([(item.name, item.value, {}) for item in announced]), strict=True
    ):
        hooks, error = description["hooks"], description["error"]
        if description["table"]:
            hooks, error = None, "config_table() is for plugins of the home: a project's has [plugins.NAME.settings]"
        own = None if hooks is None else [hook for hook in hooks if _is_of_events(hook)]
        others = [hook for hook in hooks or () if not _is_of_events(hook)]
        hints = [f"{hook} is for plugins of the home, and is not called" for hook in others]
        told = {**description, "hooks": own, "error": error, "table": "", "hints": [*description["hints"], *hints]}
        plugins.append(_discovered(plugin, told, former.get(plugin.name))[0])
    plugins += [
        plugin._with(hooks=plugin.known_hooks, former_hooks=(), error="its copy in the home is gone", settings=None)
        for name, plugin in former.items()
        if name not in files
    ]
    result = tuple(plugins)
    write_scanned(home, tree, result)
    return result


def _is_of_events(hook: str) -> bool:
    return hook == "plugin_settings" or any(concerns(hook, record.hook) for record in EVENTS.values())


def _discovered(
    plugin: _Announced, description: Mapping[str, Any], former: DiscoveredPlugin | None
) -> tuple[DiscoveredPlugin, tuple[str, ...] | None]:
    """Return what is known of a plugin, and the hooks that it had before, if none is found in it now."""
    hooks = description["hooks"]
    if description["error"] and hooks and former is not None:
        # One that does not fit may have lost the name of a guard.
        hooks = sorted({*hooks, *(former.known_hooks or ())})
    former_hooks = None if hooks or former is None else former.known_hooks
    found = DiscoveredPlugin(
        name=plugin.name,
        value=plugin.value,
        distribution="" if is_file(plugin.value) else plugin.distributions[0],
        version=plugin.version,
        hooks=former_hooks if hooks is None else tuple(hooks),
        former_hooks=() if hooks is None else former_hooks or (),
        waits=tuple((hook, *how) for hook, how in sorted(description["waits"].items())),
        ruled=tuple(description["ruled"]),
        scripted=tuple(description["scripted"]),
        stateless=tuple(description["stateless"]),
        if_known=tuple(description["if_known"]),
        matching=tuple((hook, tuple(values)) for hook, values in description["matching"]),
        wakes=tuple(description["wakes"]),
        timeout=description["timeout"],
        error=description["error"],
        hints=tuple(description["hints"]),
        files=tuple((path, stamp) for path, stamp in [*_stamped(plugin.files), *description["files"]]),
        settings=_own_settings(description),
        table=description["table"],
    )
    if former is not None and former_hooks:
        found = found._with(
            if_known=former.if_known, matching=former.matching, wakes=former.wakes, timeout=former.timeout
        )
    return found, former_hooks


def check_settings(asked: Sequence[tuple[DiscoveredPlugin, Mapping[str, object]]]) -> dict[str, OwnSettings]:
    """Check the tables of plugins that declare their settings, in the process that imports them, by plugin name.

    Never raises: what could not be checked has that as its problem, and no target.
    """
    found = {}
    try:
        descriptions = _describe([(plugin.name, plugin.value, table) for plugin, table in asked])
    except Exception as error:  # noqa: BLE001 - whatever keeps a process from being started must not open a guard
        descriptions = [{**NOTHING_KNOWN, "error": describe_error(error)} for _ in asked]
    for (plugin, _), description in zip(asked, descriptions, strict=True):
        own = _own_settings(description)
        if own is None:
            values = None if plugin.settings is None else plugin.settings.values
            text = f"cannot be checked: {description['error'] or 'the plugin declares no settings any more'}"
            own = OwnSettings(values=values, problems=((plugin.settings_key, text, "", "", ""),))
        found[plugin.name] = own
    return found


def look_into(name: str, value: str, table: Mapping[str, object]) -> dict[str, Any]:
    """Return all that one plugin says of itself, in a process of its own: what
    :func:`hookrouter._inspection.inspector.describe` returns, with how its hooks are called and what it contributes."""
    (description,) = _describe([(name, value, table)], ask=True)
    return {"called": {}, "contributions": [], **description}


def _own_settings(description: Mapping[str, Any]) -> OwnSettings | None:
    return None if description["settings"] is None else decode(OwnSettings, description["settings"])


def _announced() -> list[_Announced]:
    """Return the entry points of our group, by name."""
    found: dict[str, _Announced] = {}
    seen = set()
    for distribution in _in_question():
        try:
            label = distribution.metadata["Name"]
            # The first distribution of a name on the path is the one that imports find.
            if not label or label in seen:
                continue
            seen.add(label)
            entries = [entry for entry in distribution.entry_points if entry.group == ENTRY_POINT_GROUP]
            version = distribution.version
        except Exception as error:  # whatever is wrong with a stranger's metadata
            if isinstance(error, MemoryError) or (isinstance(error, OSError) and is_out_of_means(error)):
                # An index without it would have nobody asked.
                raise
            continue
        for name, value in ((entry.name, _value(entry)) for entry in entries):
            files = _metadata_file(distribution)
            if name in found:
                former = found[name]
                labels = tuple(sorted((*former.distributions, label)))
                found[name] = former._replace(distributions=labels, files=(*former.files, *files))
            else:
                found[name] = _Announced(name, value, (label,), version, files)
    return [found[name] for name in sorted(found)]


def _with_files(announced: list[_Announced], files: Iterable[tuple[str, str]]) -> list[_Announced]:
    """Return what distributions announce with the plugins of the home's own folder, by name."""
    found = {one.name: one for one in announced}
    for name, path in files:
        if (former := found.get(name)) is not None:
            found[name] = former._replace(distributions=(*former.distributions, path), files=(*former.files, path))
        else:
            found[name] = _Announced(name, path, (path,), "", ())
    return [found[name] for name in sorted(found)]


def _in_question() -> list[Distribution]:
    """Return the distributions that announce something for us, and those that may hide them from imports.

    Reading the metadata of all distributions takes longer than anything else of a scan.
    """
    every = [(_folder_name(each), each) for each in distributions()]
    ours = {name for name, each in every if _may_announce(each)}
    return [each for name, each in every if name in ours]


def _folder_name(distribution: Distribution) -> str:
    """Return a distribution's name in one spelling, as its metadata folder begins; empty if it has none."""
    name = os.path.basename(str(getattr(distribution, "_path", ""))).removesuffix(".egg-info").partition("-")[0]
    return name.replace(".", "_").lower()


def _may_announce(distribution: Distribution) -> bool:
    try:
        return ENTRY_POINT_GROUP in (distribution.read_text("entry_points.txt") or "")
    except Exception:  # noqa: BLE001 - whatever is wrong with it shows where it is read
        return True


def _value(entry: EntryPoint) -> str:
    """Return what an entry point refers to, without extras; as it is if it has no such form."""
    try:
        return f"{entry.module}:{entry.attr}" if entry.attr else entry.module
    except (AttributeError, AssertionError, ValueError):
        # What is raised has changed from one Python version to the next.
        return entry.value


def _metadata_file(distribution: Distribution) -> tuple[str, ...]:
    folder = getattr(distribution, "_path", None)
    path = os.path.join(str(folder), "entry_points.txt") if folder is not None else ""
    return (path,) if os.path.exists(path) else ()


def _stamped(files: Sequence[str]) -> list[tuple[str, str]]:
    return [(path, file_stamp(path)) for path in files]


def _describe(plugins: Sequence[tuple[str, str, Mapping[str, object]]], *, ask: bool = False) -> list[dict[str, Any]]:
    deadline = time.monotonic() + SCAN_SECONDS
    described: list[dict[str, Any]] = []
    while len(described) < len(plugins):
        lines, ended = _inspect(plugins[len(described) :], deadline, ask=ask)
        described.extend(lines)
        if len(described) < len(plugins):
            described.append({**NOTHING_KNOWN, "error": ended})
    return described


def _inspect(
    plugins: Sequence[tuple[str, str, Mapping[str, object]]], deadline: float, *, ask: bool
) -> tuple[list[dict[str, Any]], str]:
    """Return what the child said of the plugins that it came through, and what became of the next one."""
    if time.monotonic() >= deadline:
        return [], f"not imported, because the plugins before it took {SCAN_SECONDS:.0f} s"
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "hookrouter._inspection.inspector", *(["contributions"] if ask else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdin is not None  # noqa: S101 - for the type checker
    assert child.stdout is not None  # noqa: S101
    lines: list[dict[str, Any]] = []
    try:
        child.stdin.write(json.dumps(plugins).encode("ascii"))
        child.stdin.close()
        while len(lines) < len(plugins):
            limit = min(deadline - time.monotonic(), IMPORT_SECONDS)
            line = _next_line(child.stdout.fileno(), limit)
            if line is None:
                return lines, f"its import took longer than {max(limit, 0):.0f} s"
            if not line:
                return lines, f"the interpreter ended with exit status {child.wait()} while it was imported"
            said = json.loads(line)
            if not isinstance(said, dict) or not said.keys() >= {*NOTHING_KNOWN, "error"}:
                raise ValueError("something else wrote to its descriptors")
            lines.append(said)
        return lines, ""
    except (OSError, ValueError) as error:
        return lines, f"it could not be inspected: {error}"
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.stdout.close()
        child.wait()


def _next_line(descriptor: int, seconds: float) -> bytes | None:
    """Return the next line, b"" at the end of the output, None if none came in time."""
    deadline = time.monotonic() + seconds
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(deadline - time.monotonic(), 0)):
                return None
            chunk = os.read(descriptor, 1)
            if not chunk:
                return b""
            line += chunk
    return line
