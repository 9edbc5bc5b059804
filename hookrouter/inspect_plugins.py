"""The child process of a scan: imports plugins one by one and says what each implements.

Started as ``python -P -m hookrouter.inspect_plugins``; reads a JSON list of ``[name, entry point value]`` from stdin
and writes one JSON line per plugin to stdout as soon as it is known, so that the parent knows at which plugin a crash
or a hang happened. Plugins cannot write to that stdout.
"""

from __future__ import annotations

import inspect
import json
import os
import sys

from hookrouter.discovery import file_stamp
from hookrouter.manager import implementations, load_object, validate

__all__ = ["describe", "main"]


def main() -> int:
    """Describe every plugin named on stdin."""
    out = os.dup(1)
    os.dup2(2, 1)
    for name, value in json.loads(sys.stdin.buffer.read()):
        os.write(out, (json.dumps(describe(name, value)) + "\n").encode("ascii"))
    return 0


def describe(name: str, value: str) -> dict[str, object]:
    """Import one plugin and return its hooks, its source files and, where it cannot be used, why."""
    try:
        plugin = load_object(value)
        found = implementations(plugin)
        validate(name, plugin)
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises at import, sys.exit included
        return {"hooks": None, "files": _files(value, ()), "error": f"{type(error).__name__}: {error}"}
    return {"hooks": sorted(found), "files": _files(value, found.values()), "error": ""}


def _files(value: str, functions: object) -> list[list[object]]:
    paths = set()
    module = sys.modules.get(value.partition(":")[0])
    if module is not None and getattr(module, "__file__", None):
        paths.add(str(module.__file__))
    for function in functions if isinstance(functions, (list, tuple)) or hasattr(functions, "__iter__") else ():
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            paths.add(code.co_filename)
    return [[path, file_stamp(path)] for path in sorted(paths) if os.path.isabs(path)]


if __name__ == "__main__":
    sys.exit(main())
