"""The child process of a scan: imports plugins one by one and says what each implements.

Started as ``python -P -m hookrouter._inspection.inspector``; reads a JSON list of ``[name, entry point value, table of
settings]`` from stdin and writes one JSON line per plugin to stdout as soon as it is known, so that the parent knows at
which plugin a crash or a hang happened. Plugins cannot write to that stdout. With the argument ``contributions`` it
also asks each plugin what it contributes.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import sys
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING

from hookrouter._contract.hook_names import WAKING_HOOK
from hookrouter._contract.tables import EVENTS
from hookrouter._inspection.validation import declared_timeout, is_timeout_misplaced, known_hooks, validate
from hookrouter._plugins.files import is_file, sources, why_unsafe
from hookrouter._plugins.index import NOTHING_KNOWN, file_stamp
from hookrouter._plugins.manager import implementations, load_object
from hookrouter._plugins.script_metadata import LONGEST, why_unmet
from hookrouter.hookspecs import all_spec_classes
from hookrouter.markers import (
    PROJECT_NAME,
    TIMEOUT,
    is_if_known,
    is_ruled,
    is_scripted,
    is_stateless,
    is_waking,
    matched,
    waiting,
)
from hookrouter.util.text import describe_error
from hookrouter.util.value import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping
    from typing import Any

__all__ = ["describe", "main", "matching", "own_table", "spec_names", "waking"]

CONTRIBUTIONS = {
    "answer_channel": "name",
    "cli_commands": "name",
    "dialog_kinds": "name",
    "document_kinds": "name",
    "resident_process": "name",
    "session_watcher": "name",
    "gateway": "type",
    "keystroke_planner": "name",
    "machines": "name",
    "message_composer": "name",
    "prompt_channel": "name",
    "statistics_section": "name",
    "storage_engine": "name",
    "terminal_backend": "name",
    "web_pages": "title",
}
"""The hooks by which plugins contribute, each with what a contribution is known by."""

_LISTS = ("cli_commands", "dialog_kinds", "document_kinds", "resident_process", "web_pages")
"""Those that return several."""

_TABLE_NAME = re.compile(r"[a-z][a-z0-9_-]*")

MAX_ERROR = 1000
"""Characters of an error that are kept."""


def main() -> int:
    """Describe every plugin named on stdin."""
    out = os.dup(1)
    os.dup2(2, 1)
    for name, value, table in json.loads(sys.stdin.buffer.read()):
        description = describe(name, value, table, ask=sys.argv[1:] == ["contributions"])
        os.write(out, (json.dumps(description) + "\n").encode("ascii"))
    return 0


def describe(name: str, value: str, table: Mapping[str, object], *, ask: bool = False) -> dict[str, object]:
    """Import one plugin and return its hooks, its source files, hints and, if it cannot be used, why.

    ``table`` is ``[plugins.NAME.settings]``, which is checked if the plugin declares a class for it. With ``ask`` it
    is also said how its hooks are called (``tryfirst``, ``trylast``, ``wrapper``) and what it contributes.
    """
    files, plugin = _module_files(value), None
    try:
        if is_file(value) and (reason := why_unsafe(value) or why_unmet(_source(value))):
            # Nothing of it runs.
            raise ImportError(reason)
        plugin = load_object(value)
        found = validate(name, plugin)
        timeout = declared_timeout(plugin)
        optional = sorted(implementations(plugin).keys() - found)
        unmarked = _unmarked(plugin, found)
        table_of_its_own = own_table(found)
        settings = _settings(table_of_its_own or f"plugins.{name}.settings", found, table, files)
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises at import, sys.exit included
        text = describe_error(error, MAX_ERROR)
        return {**NOTHING_KNOWN, "hooks": _hooks_of_misfit(plugin), "files": _stamped(files), "error": text}
    codes = (getattr(inspect.unwrap(function), "__code__", None) for function in (*found.values(), *unmarked.values()))
    files.update(code.co_filename for code in codes if code is not None)
    files.update(_class_files(plugin))
    waits = {
        hook: (how.seconds, how.setting) for hook, function in found.items() if (how := waiting(function)) is not None
    }
    return {
        "hooks": sorted(found),
        "waits": waits,
        "ruled": sorted(hook for hook, function in found.items() if is_ruled(function)),
        "scripted": sorted(hook for hook, function in found.items() if is_scripted(function)),
        "stateless": sorted(hook for hook, function in found.items() if is_stateless(function)),
        "if_known": sorted(hook for hook, function in found.items() if is_if_known(function)),
        "matching": matching(found),
        "wakes": waking(found),
        "timeout": timeout,
        "files": _stamped(files),
        "hints": [
            *(f"{name} has a hook's name but no @hookimpl" for name in unmarked),
            *(
                f"{hook} is not a hook of this version, and is not called: it is marked as optional"
                for hook in optional
            ),
            *_marked_in_vain(plugin, found),
        ],
        "settings": settings,
        "table": table_of_its_own,
        "error": "",
        **({"called": _called(found), "contributions": _contributions(found)} if ask else {}),
    }


def _hooks_of_misfit(plugin: object) -> list[str] | None:
    """Return the hooks of a plugin that was imported and cannot be used; None if they are not known."""
    try:
        return known_hooks(plugin) or None
    except BaseException:  # noqa: BLE001 - as in describe()
        return None


def matching(found: Mapping[str, Callable[..., Any]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the hooks that are about some calls of their events, each with the values that matchers look at."""
    return sorted(
        (hook, values) for hook, function in found.items() if (values := matched(function)) and _has_matcher(hook)
    )


def waking(found: Mapping[str, Callable[..., Any]]) -> list[str]:
    """Return the hooks that may begin a turn of Claude's."""
    return [hook for hook, function in found.items() if hook == WAKING_HOOK and is_waking(function)]


def _has_matcher(hook: str) -> bool:
    """Whether Claude Code's matchers look at something in the calls of a hook."""
    return any(record.hook == hook and record.matcher is not None for record in EVENTS.values())


def _marked_in_vain(plugin: object, found: Mapping[str, Callable[..., Any]]) -> Iterator[str]:
    """Yield a line for each marker that does nothing where it stands."""
    if is_timeout_misplaced(plugin):
        yield f"{TIMEOUT} does not count in the module: write it in the class"
    for hook, function in sorted(found.items()):
        if matched(function) and not _has_matcher(hook):
            yield f"{hook} is marked with @matching, and Claude Code has no matcher for it"
        if is_waking(function) and hook != WAKING_HOOK:
            yield f"{hook} is marked with @wakes, which {WAKING_HOOK} alone can be"


def _called(found: Mapping[str, Callable[..., Any]]) -> dict[str, list[str]]:
    """Return for each hook the options that change when or how it is called."""
    options = {hook: getattr(function, f"{PROJECT_NAME}_impl", {}) for hook, function in found.items()}
    return {hook: [word for word in ("tryfirst", "trylast", "wrapper") if of.get(word)] for hook, of in options.items()}


def _contributions(found: Mapping[str, Callable[..., Any]]) -> list[dict[str, object]]:
    """Return what a plugin contributes by each hook: the names or types, or why it cannot be said."""
    rows: list[dict[str, object]] = []
    for hook, attribute in sorted(CONTRIBUTIONS.items()):
        if hook not in found:
            continue
        try:
            result: Any = found[hook]()
            items = result if hook in _LISTS else [result]
            names = [str(getattr(item, attribute)) for item in items or () if item is not None]
            keys = _gateway_keys(result) if hook == "gateway" else []
            rows.append({"hook": hook, "names": names, "error": "", "keys": keys})
        except BaseException as error:  # noqa: BLE001 - as in describe()
            rows.append({"hook": hook, "names": [], "error": describe_error(error, MAX_ERROR), "keys": []})
    return rows


def _gateway_keys(gateway: object) -> list[dict[str, object]]:
    """Return the keys of ``[gateways.NAME]`` that a gateway declares; none if it takes the table as it is."""
    from hookrouter._plugins.settings_schema import check, declared

    kind = declared(getattr(gateway, "settings", None), "settings is")
    fields = () if kind is None else check(kind, {}, "").fields
    return [dict(zip(("key", "type", "required", "default", "help"), field, strict=True)) for field in fields]


def own_table(found: Mapping[str, Callable[..., Any]]) -> str:
    """Return the table of config.toml that a plugin declares; empty for none. Raises TypeError for what can be none."""
    name = found["config_table"]() if "config_table" in found else None
    if name is None:
        return ""
    if not isinstance(name, str) or not _TABLE_NAME.fullmatch(name):
        raise TypeError(f"config_table() returned {name!r}; allowed: small letters, digits, - and _, or None")
    from hookrouter._config.schema import TABLES

    if name in TABLES:
        raise TypeError(f"config_table() returned {name!r}, which is a table of hookrouter's own")
    if "plugin_settings" not in found:
        raise TypeError(f"config_table() returned {name!r}, and there is no plugin_settings() to say what it takes")
    return name


def _settings(
    key: str, found: Mapping[str, Callable[..., Any]], table: Mapping[str, object], files: set[str]
) -> dict[str, object] | None:
    """Return what is to be known of a plugin's settings, and add the file of their class to ``files``."""
    if "plugin_settings" not in found:
        return None
    from hookrouter._plugins.settings_schema import check, declared

    kind = declared(found["plugin_settings"]())
    if kind is None:
        return None
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is not None:
        files.add(file)
    return encode(check(kind, table, key))  # type: ignore[no-any-return] # an object, as OwnSettings is one


def spec_names() -> frozenset[str]:
    """Return the names of all hooks."""
    return frozenset(name for specs in all_spec_classes() for name, spec in vars(specs).items() if _is_spec(spec))


def _is_spec(function: object) -> bool:
    return hasattr(function, f"{PROJECT_NAME}_spec")


def _unmarked(plugin: object, found: Container[str]) -> dict[str, Callable[..., Any]]:
    """Return the plugin's own functions that have a hook's name and are none: most likely the marker was forgotten."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    unmarked: dict[str, Callable[..., Any]] = {}
    for name in sorted(spec_names()):
        if name in found:
            continue
        function = inspect.getattr_static(plugin, name, None)
        if isinstance(function, staticmethod | classmethod):
            function = function.__func__
        # Imported and inherited functions are somebody else's.
        if (
            inspect.isfunction(function)
            and not _is_spec(function)
            and function.__module__.partition(".")[0] == home.partition(".")[0]
        ):
            unmarked[name] = function
    return unmarked


def _class_files(plugin: object) -> Iterator[str]:
    """Yield the sources of a plugin's class and of its bases: a hook may appear in any of them."""
    if isinstance(plugin, ModuleType):
        return
    for kind in type(plugin).__mro__:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None and kind.__module__.partition(".")[0] != PROJECT_NAME:
            yield file


def _module_files(value: str) -> set[str]:
    """Return the source of the module that an entry point names, even if it cannot be imported."""
    if is_file(value):
        with suppress(OSError):
            return {path for path in sources(value) if not os.path.isdir(path)}
        return {_source_file(value)}
    try:
        spec = importlib.util.find_spec(value.partition(":")[0])
    except BaseException:  # noqa: BLE001 - a parent package may raise anything
        return set()
    return {spec.origin} if spec is not None and spec.origin is not None else set()


def _source_file(path: str) -> str:
    return os.path.join(path, "__init__.py") if os.path.isdir(path) else path


def _source(path: str) -> str:
    with open(_source_file(path), encoding="utf-8", errors="replace") as file:
        return file.read(LONGEST)


def _stamped(files: set[str]) -> list[list[object]]:
    return [[path, file_stamp(path)] for path in sorted(files) if os.path.isabs(path)]


if __name__ == "__main__":
    sys.exit(main())
