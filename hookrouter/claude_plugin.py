"""Write hookrouter's plugin for Claude Code: ``python -m hookrouter.claude_plugin [--check] [FOLDER]``.

The plugin registers hookrouter for the events and tools that its first-party plugins listen to, and nothing else:
``hookrouter install`` does that for the plugins that are really installed. Written are the marketplace and the plugin
below FOLDER, by default the source tree. ``--check`` writes nothing and exits 1 where a file differs.

What Claude Code does with it was measured on 2.1.330: a plugin's hook runs beside an equal one of settings.json, never
in place of it, so the plugin's program leaves the work to a hookrouter that settings.json starts.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import evolve

from hookrouter import __version__
from hookrouter.application import Application
from hookrouter.generated_files import write_or_compare
from hookrouter.home import HOME_VARIABLE
from hookrouter.settings import Registration, listeners, registrations

__all__ = ["PLUGIN", "first_party_registrations", "generate", "main"]

PLUGIN = "hookrouter"
"""The plugin's name, and its marketplace's."""

FOLDER = Path(__file__).resolve().parent.parent

_ABOUT = "Routes every Claude Code hook event through pluggy plugins, and answers Claude's questions for an agent."
_OWNER = {"name": "hookrouter"}

_PROGRAM = """\
#!/bin/sh
# Starts `hookrouter run EVENT`. Claude Code runs a plugin's hook beside an equal one of settings.json, so where
# `hookrouter install` has registered hookrouter there, this leaves the work to that one.
for file in "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json" \\
  "$CLAUDE_PROJECT_DIR/.claude/settings.json" "$CLAUDE_PROJECT_DIR/.claude/settings.local.json"; do
  grep -qs "hookrouter'\\{0,1\\} run [a-z]" "$file" && exit 0
done
program=$(command -v hookrouter) || program=$HOME/.local/bin/hookrouter
if [ -x "$program" ]; then
  exec "$program" run "$1"
fi
if [ "$1" = session-start ]; then
  echo '{"systemMessage": "hookrouter is not installed, so its plugin does nothing; fix: pipx install hookrouter"}'
fi
"""


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; the exit code is 1 where ``--check`` finds a difference, 2 for other words."""
    return write_or_compare("hookrouter.claude_plugin", arguments, FOLDER, generate)


def generate() -> dict[str, str]:
    """Return the text of each file by its path below the source tree."""
    hooks: dict[str, list[object]] = {}
    for want in first_party_registrations():
        hooks.setdefault(want.event, []).append(want.group())
    entry = {"name": PLUGIN, "description": _ABOUT}
    documents = {
        ".claude-plugin/marketplace.json": {
            "name": PLUGIN,
            "description": _ABOUT,
            "owner": _OWNER,
            "plugins": [{**entry, "source": "./claude-plugin"}],
        },
        "claude-plugin/.claude-plugin/plugin.json": {
            **entry,
            "version": __version__,
            "author": _OWNER,
            "license": "MIT",
        },
        "claude-plugin/hooks/hooks.json": {"description": _ABOUT, "hooks": hooks},
    }
    texts = {path: f"{json.dumps(document, indent=2)}\n" for path, document in documents.items()}
    return {**texts, "claude-plugin/hooks/run": _PROGRAM}


def first_party_registrations() -> list[Registration]:
    """Return what the first-party plugins need without any configuration, with the plugin's own program."""
    with TemporaryDirectory() as folder:
        app = Application.from_environ({**os.environ, HOME_VARIABLE: folder})
        own = [info for info in app.plugins.listing() if info.distribution == "hookrouter"]
        wanted = registrations(listeners(own, app.config), ["hook"], None)
    words = {want: want.command.rpartition(" ")[2] for want in wanted}
    return [evolve(want, command=f'"${{CLAUDE_PLUGIN_ROOT}}"/hooks/run {word}') for want, word in words.items()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
