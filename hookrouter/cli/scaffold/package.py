"""Writes a new plugin's package: what ``hookrouter plugins new`` gives an author to start from.

The files are made of the texts in ``templates/``. The manual's pages about plugins show the same files, so each example
stands once; ``python -m scripts.generate.manual`` brings them there.
"""

from __future__ import annotations

import os
import re
import time
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from hookrouter import __version__
from hookrouter.cli.scaffold.errors import ScaffoldError
from hookrouter.cli.scaffold.hooks import chosen_hooks, hook_files
from hookrouter.cli.scaffold.parts import chosen_part, part_files
from hookrouter.cli.scaffold.source import fill, quoted
from hookrouter.config import NO_PLUGINS
from hookrouter.markers import ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Package", "plan", "write"]

MAX_NAME = 32
"""Characters of a plugin's name."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PYRIGHT = "pyright>=1.1.390"
_TOOLS = ("mypy>=1.14", _PYRIGHT, "pytest>=8.3", "ruff>=0.9")


class Package(NamedTuple):
    """A package that can be written."""

    plugin: str
    """The plugin's name, which its entry point gives it."""
    distribution: str
    module: str
    class_name: str
    hooks: tuple[str, ...]
    files: Mapping[str, str]
    """The text of each file, by its path in the package, in alphabetical order."""
    work: tuple[str, ...]
    """The commands with which an author begins, in the package's folder."""


def plan(name: str, events: Sequence[str] = (), *, fail_closed: bool = False, http: bool = False) -> Package:
    """Return the package of a plugin called ``name``, with a leading ``hookrouter-`` left out.

    Upper case becomes lower, and blanks, dots and underscores become dashes. ``events`` are events, in any spelling,
    or names of hooks such as ``post_tool_use_edit``, or one of ``PARTS``. ``fail_closed`` makes the hook a guard for
    the tool that it names, ``http`` the gateway one over HTTP. Raises ScaffoldError.
    """
    plugin = _plugin_name(name)
    words = {
        "plugin": plugin,
        "distribution": f"hookrouter-{plugin}",
        "module": f"hookrouter_{plugin.replace('-', '_')}",
        "module_name": plugin.replace("-", "_"),
        "base": (base := "".join(word.capitalize() for word in plugin.split("-"))),
        "class_name": f"{base}Plugin",
        "version": __version__,
        "year": str(time.gmtime().tm_year),
        "type_checker": re.split(r"\W", _PYRIGHT)[0],
    }
    part = chosen_part(events, plugin, http=http)
    if part and fail_closed:
        raise ScaffoldError(f"--fail-closed: is for a hook that guards a tool; found --event {part.hook}")
    use = (part.use if part else "hookrouter plugins info {plugin}").format(plugin=plugin)
    work = (
        "pip install -e '.[dev]'",
        f"pytest && ruff check && ruff format --check && mypy && {words['type_checker']}",
        use,
    )
    words["work"] = "\n".join(work)
    if part:
        hooks: tuple[str, ...] = (part.hook,)
        needs, tests_need = part.needs, part.tests_need
        files = part_files(part, words)
        readme = {
            "about": part.about,
            "use": f"hookrouter plugins info {plugin}",
            "configuration": fill(part.templates["README.md"], words),
            "tests": part.tests.format(**words),
        }
    else:
        hooks = chosen_hooks(events, fail_closed=fail_closed)
        needs, tests_need = ("attrs>=24.2",), ()
        files, readme = hook_files(hooks, words, fail_closed=fail_closed)
    words |= {
        "dependencies": quoted([*needs, f"hookrouter>={__version__}"]),
        "dev": quoted([*tests_need, *_TOOLS]),
    }
    files |= {
        "README.md": fill("common/README.md", words, **readme),
        "pyproject.toml": fill("common/pyproject.toml", words),
        "LICENSE": fill("common/LICENSE", words),
        ".gitignore": fill("common/gitignore", words),
        ".github/workflows/ci.yml": fill("common/ci.yml", words),
    }
    return Package(
        plugin, words["distribution"], words["module"], words["class_name"], hooks, dict(sorted(files.items())), work
    )


def write(package: Package, parent: str) -> str:
    """Write the package into a new folder of its distribution's name in ``parent``, and return the folder's path.

    Raises ScaffoldError if the folder is there and not empty, or cannot be written; nothing is overwritten.
    """
    folder = os.path.join(os.path.abspath(parent), package.distribution)
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise ScaffoldError(f"{folder} is not empty; nothing is overwritten: choose another name, or --dir")
        for path, text in package.files.items():
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise ScaffoldError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from None
    return folder


def _plugin_name(name: str) -> str:
    plugin = re.sub(r"[-_. ]+", "-", name.strip().lower()).removeprefix("hookrouter-")
    if not _NAME.fullmatch(plugin) or len(plugin) > MAX_NAME:
        raise ScaffoldError(
            f"NAME: found {name!r}, allowed are up to {MAX_NAME} characters: words of a-z and 0-9, joined by dashes, "
            "the first beginning with a letter, for example git-guard"
        )
    if plugin in NO_PLUGINS:
        raise ScaffoldError(f"NAME: {plugin!r} is a key of [plugins] in config.toml, so no plugin can have that name")
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name == plugin:
            raise ScaffoldError(f"NAME: a plugin {plugin!r} is installed here already ({entry.value})")
    module = f"hookrouter_{plugin.replace('-', '_')}"
    if find_spec(module) is not None:
        raise ScaffoldError(f"NAME: there is a module {module!r} in this environment already")
    return plugin
