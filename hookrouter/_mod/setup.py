"""The mod of one home: what it consists of now, whether that is written, and what keeps it from being of use."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from hookrouter._installation.front_command import Front
from hookrouter._installation.registrations import wanted_registrations, wanted_sources
from hookrouter._mod.folder import mod_files, mod_folder
from hookrouter._mod.routes import routes
from hookrouter.queue.channels import prompt_channels
from hookrouter.storage.home import HOME_VARIABLE
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.context import Services

__all__ = ["CHANNEL", "MINIMUM_CLIENT", "current_files", "missing_parts", "stale_files"]

CHANNEL = "mod"
"""The name of the prompt channel that hands prompts to the mod."""

MINIMUM_CLIENT = (2, 1, 287)
"""The oldest Claude Code that loads mods."""


def current_files(app: Services) -> dict[str, str]:
    """Return the mod's files for a home's plugins of now: path below its folder -> text. Raises ModError."""
    found = routes(wanted_registrations(app, Front.MOD), wanted_sources(app))
    root = app.home.root if app.environ.get(HOME_VARIABLE) else None
    takes_prompts = CHANNEL in app.config.sessions.channels and CHANNEL in prompt_channels(app.plugins)
    return mod_files(app.home, found, script_argv(), root, takes_prompts=takes_prompts)


def stale_files(app: Services) -> list[str]:
    """Return the paths of the mod's files that are missing or not those of now. Raises ModError."""
    folder = mod_folder(app.home)
    wanted = {os.path.join(folder, name): text for name, text in current_files(app).items()}
    return [path for path, text in wanted.items() if _text(path) != text]


def missing_parts(app: Services) -> Iterator[tuple[str, str]]:
    """Return what the mod lacks to bring any call to the router, each with its remedy."""
    if not app.config.serve.mod:
        yield "[serve] mod is not true, so the router takes no calls of a mod", f"set it in {app.home.config_file}"
    if importlib.util.find_spec("uvicorn") is None:
        yield "the extra hookrouter[serve] is not installed", "pip install 'hookrouter[serve]'"


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None
