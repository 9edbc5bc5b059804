"""The child process of a scan: imports plugins one by one and says what each implements.

Started as ``python -P -m hookrouter.inspect_plugins``; reads a JSON list of ``[name, entry point value, table of
settings]`` from stdin and writes one JSON line per plugin to stdout as soon as it is known, so that the parent knows at
which plugin a crash or a hang happened. Plugins cannot write to that stdout. With the argument ``contributions`` it
also asks each plugin what it contributes.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from hookrouter.discovery import file_stamp
from hookrouter.hookspecs import all_spec_classes
from hookrouter.manager import implementations, load_object, validate
from hookrouter.markers import PROJECT_NAME, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from typing import Any

__all__ = ["describe", "main", "spec_names"]

CONTRIBUTIONS = {
    "answer_channel": "name",
    "cli_commands": "name",
    "gateway": "type",
    "keystroke_planner": "name",
    "terminal_backend": "name",
}
"""The hooks by which plugins contribute, each with what a contribution is known by."""

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
    """Import one plugin and return its hooks, its source files, hints and, where it cannot be used, why.

    ``table`` is ``[plugins.NAME.settings]``, which is checked where the plugin declares a class for it. With ``ask`` it
    is also said how its hooks are called (``tryfirst``, ``trylast``, ``wrapper``) and what it contributes.
    """
    files = _module_files(value)
    try:
        plugin = load_object(value)
        found = implementations(plugin)
        validate(name, plugin)
        hints = _unmarked(plugin, found)
        settings = _settings(name, found, table, files)
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises at import, sys.exit included
        text = f"{type(error).__name__}: {error}"[:MAX_ERROR]
        return {"hooks": None, "waits": {}, "files": _stamped(files), "hints": [], "settings": None, "error": text}
    codes = (getattr(inspect.unwrap(function), "__code__", None) for function in found.values())
    files.update(code.co_filename for code in codes if code is not None)
    waits = {hook: how for hook, function in found.items() if (how := waiting(function)) is not None}
    return {
        "hooks": sorted(found),
        "waits": waits,
        "files": _stamped(files),
        "hints": hints,
        "settings": settings,
        "error": "",
        **({"called": _called(found), "contributions": _contributions(found)} if ask else {}),
    }


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
            items = result if hook == "cli_commands" else [result]
            names = [str(getattr(item, attribute)) for item in items or () if item is not None]
            rows.append({"hook": hook, "names": names, "error": ""})
        except BaseException as error:  # noqa: BLE001 - as in describe()
            rows.append({"hook": hook, "names": [], "error": f"{type(error).__name__}: {error}"[:MAX_ERROR]})
    return rows


def _settings(
    name: str, found: Mapping[str, Callable[..., Any]], table: Mapping[str, object], files: set[str]
) -> dict[str, object] | None:
    """Return what is to be known of a plugin's settings, and add the file of their class to ``files``."""
    if "plugin_settings" not in found:
        return None
    from hookrouter.settings_classes import check, declared

    kind = declared(found["plugin_settings"]())
    if kind is None:
        return None
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is not None:
        files.add(file)
    return check(kind, table, name).encode()


def spec_names() -> frozenset[str]:
    """Return the names of all hooks."""
    return frozenset(name for specs in all_spec_classes() for name, spec in vars(specs).items() if _is_spec(spec))


def _is_spec(function: object) -> bool:
    return hasattr(function, f"{PROJECT_NAME}_spec")


def _unmarked(plugin: object, found: Container[str]) -> list[str]:
    """Say which functions of the plugin's own have a hook's name and are none: most likely the marker was forgotten."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    hints = []
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
            hints.append(f"{name} has a hook's name but no @hookimpl")
    return hints


def _module_files(value: str) -> set[str]:
    """Return the source of the module that an entry point names, also where it cannot be imported."""
    try:
        spec = importlib.util.find_spec(value.partition(":")[0])
    except BaseException:  # noqa: BLE001 - a parent package may raise anything
        return set()
    return {spec.origin} if spec is not None and spec.origin is not None else set()


def _stamped(files: set[str]) -> list[list[object]]:
    return [[path, file_stamp(path)] for path in sorted(files) if os.path.isabs(path)]


if __name__ == "__main__":
    sys.exit(main())
