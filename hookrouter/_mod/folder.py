"""The folder of the mod: a plugin of Claude Code, and the marketplace that holds it.

Claude Code reads a marketplace that is a folder from the folder itself, at each start. The folder lies in hookrouter's
home, so that its path outlives an upgrade of the package.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from hookrouter import __version__
from hookrouter._installation.mod_keys import MARKETPLACE, PLUGIN
from hookrouter._mod.bridge import Surroundings, bridge_source
from hookrouter._serving.address import HTTP
from hookrouter.storage.documents import replace_file
from hookrouter.storage.home import ensure
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._mod.routes import Route
    from hookrouter.storage.home import Home

__all__ = ["MAX_SOCKET_PATH", "ModError", "gate_socket", "mod_files", "mod_folder", "remove_mod", "write_mod"]

MAX_SOCKET_PATH = 103
"""Bytes of a Unix socket's path that every system takes; the mod, unlike a front, cannot shorten it."""

_ABOUT = "Passes hook events to hookrouter's router"


class ModError(HookrouterError):
    """The mod cannot be written; the message says why."""


def mod_folder(home: Home) -> str:
    """Return the absolute path of the mod's folder."""
    return os.path.join(home.state, "mod")


def gate_socket(home: Home) -> str:
    """Return the absolute path of the gate's Unix socket. Raises ModError if the client could not connect to it."""
    path = os.path.join(home.router, HTTP)
    size = len(os.fsencode(path))
    if size > MAX_SOCKET_PATH:
        fault = f"{path} is {size} bytes long, and a socket's path may have {MAX_SOCKET_PATH}"
        raise ModError(f"{fault}; set HOOKROUTER_HOME to a shorter folder, or use --front native")
    return path


def mod_files(
    home: Home, routes: Sequence[Route], script: Sequence[str], root: str | None, *, takes_prompts: bool = False
) -> dict[str, str]:
    """Return the mod's files: path below its folder -> text.

    ``script`` are the words that start hookrouter; ``root`` is the HOOKROUTER_HOME that the entries set, if they do;
    ``takes_prompts``: prompts are to come into sessions by the mod. Raises ModError.
    """
    plugin = {"name": PLUGIN, "version": __version__, "description": _ABOUT, "author": {"name": "hookrouter"}}
    entry = {"name": PLUGIN, "source": "./", "description": _ABOUT}
    market = {"name": MARKETPLACE, "owner": {"name": "hookrouter"}, "description": _ABOUT, "plugins": [entry]}
    hooks = {"description": _ABOUT, "modules": ["./bridge.js"]}
    return {
        ".claude-plugin/plugin.json": _json(plugin),
        ".claude-plugin/marketplace.json": _json(market),
        "hooks/hooks.json": _json(hooks),
        "hooks/bridge.js": bridge_source(routes, Surroundings(gate_socket(home), script, root, takes_prompts)),
    }


def write_mod(home: Home, files: dict[str, str]) -> str:
    """Write the mod's files, each whole or not at all (0600, folders 0700), and return its folder. Raises ModError."""
    folder = mod_folder(home)
    try:
        ensure(home.state)
        for name, text in files.items():
            path = os.path.join(folder, name)
            ensure(os.path.dirname(path))
            replace_file(path, text.encode(), durable=False)
    except OSError as error:
        raise ModError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return folder


def remove_mod(home: Home) -> bool:
    """Remove the mod's folder; return whether it was there. Raises ModError."""
    folder = mod_folder(home)
    if not os.path.isdir(folder):
        return False
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise ModError(f"{folder}: cannot be removed: {error.strerror or error}") from None
    return True


def _json(document: object) -> str:
    return json.dumps(document, indent=2) + "\n"
