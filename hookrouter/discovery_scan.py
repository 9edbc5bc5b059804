"""The slow half of discovery: read the installed entry points and find out what each plugin implements.

Plugins are imported in a child process. One that crashes the interpreter or hangs at import is reported as broken and
the others are still found; nothing that a plugin does at import reaches the process that asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, distributions
from typing import TYPE_CHECKING, Any

from hookrouter.discovery import DiscoveredPlugin, environment_key, file_stamp, read_cache, write_cache
from hookrouter.markers import ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from hookrouter.home import Home

__all__ = ["IMPORT_TIMEOUT", "scan"]

IMPORT_TIMEOUT = 20.0
"""Seconds that the import of all plugins together may take before the one at hand counts as hanging."""


def scan(home: Home) -> tuple[DiscoveredPlugin, ...]:
    """Scan the environment, save the index and return the plugins in order of their names.

    A plugin that is broken now keeps the hooks that the last good index knew of it, so that one that is set to fail
    closed still guards the same calls.
    """
    key = environment_key()
    found = sorted(_entry_points(), key=lambda item: item[0].name)
    described = _describe([(entry.name, entry.value) for entry, _ in found])
    known = {plugin.name: plugin.hooks for plugin in read_cache(home, fresh=False) or ()}
    plugins = []
    seen: dict[str, str] = {}
    for (entry, metadata_files), description in zip(found, described, strict=True):
        distribution = entry.dist
        label = distribution.metadata["Name"] if distribution is not None else ""
        hooks = description["hooks"]
        error = description["error"]
        if entry.name in seen:
            hooks, error = (), f"the name is taken by distribution {seen[entry.name]!r}; only one of them can be used"
        seen.setdefault(entry.name, label)
        plugins.append(
            DiscoveredPlugin(
                name=entry.name,
                value=entry.value,
                distribution=label,
                version=distribution.version if distribution is not None else "",
                hooks=tuple(hooks) if hooks is not None else known.get(entry.name),
                error=error,
                files=tuple((path, stamp) for path, stamp in [*metadata_files, *description["files"]]),
            )
        )
    result = tuple(plugins)
    write_cache(home, result, key)
    return result


def _entry_points() -> list[tuple[EntryPoint, list[tuple[str, int]]]]:
    """Return the entry points of our group, each with the metadata file that announces it."""
    result: list[tuple[EntryPoint, list[tuple[str, int]]]] = []
    names = set()
    for distribution in distributions():
        name = distribution.metadata["Name"]
        # The first distribution of a name on the path is the one that imports find.
        if not name or name in names:
            continue
        names.add(name)
        announced = [entry for entry in distribution.entry_points if entry.group == ENTRY_POINT_GROUP]
        if announced:
            folder = getattr(distribution, "_path", None)
            path = os.path.join(str(folder), "entry_points.txt") if folder is not None else ""
            files = [(path, file_stamp(path))] if os.path.exists(path) else []
            result.extend((entry, files) for entry in announced)
    return result


def _describe(plugins: list[tuple[str, str]]) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = []
    while len(described) < len(plugins):
        lines, ended = _inspect(plugins[len(described) :])
        described.extend(lines)
        if len(described) < len(plugins):
            described.append({"hooks": None, "files": [], "error": f"{ended} while it was imported"})
    return described


def _inspect(plugins: list[tuple[str, str]]) -> tuple[list[dict[str, Any]], str]:
    """Return what the child said of the plugins that it came through, and how it ended."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "hookrouter.inspect_plugins"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(json.dumps(plugins).encode("ascii"), timeout=IMPORT_TIMEOUT)
        ended = f"the interpreter ended with exit status {child.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        output, _ = child.communicate()
        ended = f"nothing happened for {IMPORT_TIMEOUT:.0f} s"
    lines = []
    for line in output.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines[: len(plugins)], ended
