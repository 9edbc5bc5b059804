"""Write the directory of plugins: ``python -m scripts.generate.directory [--check] [FOLDER]``.

From the seeds in ``hookrouter/_setup/directory_seeds.toml``, and what the packages and files say of themselves: name,
summary, and by a scan that runs nothing of them the hooks that they implement. Written are
``docs/plugins/directory.md`` and ``hookrouter/_setup/directory.json``, which ``hookrouter plugins search`` reads.
"""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.generate.files import write_or_compare

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["directory", "generate", "main"]

FOLDER = Path(__file__).resolve().parents[2]
_SEEDS = "hookrouter/_setup/directory_seeds.toml"

_HEAD = """\
# Directory of plugins

<!-- Written by `python -m scripts.generate.directory`. -->

Plugins to install or to copy, by what they are for. `hookrouter plugins search WORD` searches the same list without a
network, and says what is installed.

- A package of this repository: `hookrouter plugins install ./examples/NAME` from a clone.
- A file of it: `hookrouter plugins add ./examples/hooks/NAME.py`.

A plugin of yours belongs here? Add its name, address, summary and hooks to `hookrouter/_setup/directory_seeds.toml`.
"""


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; the exit code is 1 if ``--check`` finds a difference, 2 for other words."""
    return write_or_compare("scripts.generate.directory", arguments, FOLDER, generate)


def generate() -> dict[str, str]:
    """Return the text of each file by its path below the source tree."""
    found = directory(tomllib.loads((FOLDER / _SEEDS).read_text(encoding="utf-8")))
    return {
        "docs/plugins/directory.md": "".join(_page(found)),
        "hookrouter/_setup/directory.json": f"{json.dumps(found, indent=1)}\n",
    }


def directory(seeds: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of each plugin: kind, name, summary, hooks and source (a path, or an address)."""
    return [{"kind": kind["title"], **_entry(seed)} for kind in seeds["kinds"] for seed in kind["plugins"]]


def _entry(seed: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(seed, dict):
        return {"name": seed["name"], "summary": seed["summary"], "hooks": seed["hooks"], "source": seed["url"]}
    path = FOLDER / seed
    if path.suffix == ".py":
        tree = ast.parse(path.read_text(encoding="utf-8"))
        summary = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")
        return {"name": path.stem, "summary": summary, "hooks": sorted(_hooks(tree)), "source": seed}
    project = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    summary = project["description"].removeprefix("A hookrouter plugin: ")
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in sorted((path / "src").rglob("*.py"))]
    hooks = sorted({hook for tree in trees for hook in _hooks(tree)})
    return {"name": project["name"], "summary": summary[:1].upper() + summary[1:], "hooks": hooks, "source": seed}


def _hooks(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the functions that are marked as implementations of hooks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
            if any(ast.unparse(mark).rpartition(".")[2] == "hookimpl" for mark in marks):
                yield node.name


def _page(found: list[dict[str, Any]]) -> Iterator[str]:
    yield _HEAD
    for kind in dict.fromkeys(one["kind"] for one in found):
        yield f"\n## {kind}\n\n| plugin | does | hooks |\n|---|---|---|\n"
        for one in found:
            if one["kind"] == kind:
                is_address = one["source"].startswith("https://")
                name = f"[`{one['name']}`]({one['source']})" if is_address else f"`{one['source']}`"
                hooks = ", ".join(f"`{hook}`" for hook in one["hooks"])
                yield f"| {name} | {one['summary']} | {hooks} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
