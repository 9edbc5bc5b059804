"""Write hookrouter's plugin for Claude Code: ``python -m scripts.generate.claude_plugin [--check] [FOLDER]``.

Written are the marketplace and the plugin below FOLDER, by default the source tree. ``--check`` writes nothing and
exits 1 if a file differs.

What Claude Code does with it was measured on 2.1.330: a plugin's hook runs beside an equal one of settings.json, never
in place of it, so the plugin's program leaves the work to a hookrouter that settings.json starts.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hookrouter import __version__
from hookrouter._installation.claude_plugin import first_party_registrations
from hookrouter.cli.application import Application
from hookrouter.storage.home import HOME_VARIABLE
from scripts.generate.files import write_or_compare

__all__ = ["PLUGIN", "generate", "main"]

PLUGIN = "hookrouter"
"""The plugin's name, and its marketplace's."""

FOLDER = Path(__file__).resolve().parents[2]

_ABOUT = "Routes every Claude Code hook event through pluggy plugins, and answers Claude's questions for an agent."
_OWNER = {"name": "hookrouter"}

_PROGRAM = r"""#!/bin/sh
# Starts `hookrouter run EVENT`. Claude Code runs a plugin's hook beside an equal one of settings.json, so if
# `hookrouter install` has registered hookrouter there, this leaves the work to that one.
#
# A handler of settings.json is a JSON object without objects in it. It is an entry of hookrouter by its "command",
# `... hookrouter run EVENT`, or with that program as "command" and `run EVENT` as "args"; the same words elsewhere, in
# a permission rule for example, are none.
start='(([^"\\]|\\.)*[^A-Za-z0-9_.-])?hookrouter'
quotes="['\\\\\"]*"
arguments='"args" *: *\[[^]]*"run" *, *"[a-z]'
entry="\"command\" *: *\"$start$quotes +run +$quotes[a-z]"
entry="$entry|\"command\" *: *\"$start\".*$arguments|$arguments.*\"command\" *: *\"$start\""
entry="$entry|\"args\" *: *\[[^]]*\"hookrouter\" *, *\"run\" *, *\"[a-z]"
for file in "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json" \
  "$CLAUDE_PROJECT_DIR/.claude/settings.json" "$CLAUDE_PROJECT_DIR/.claude/settings.local.json"; do
  grep -qs hookrouter "$file" || continue
  tr '\t\r\n' '   ' <"$file" | grep -oE '\{([^{}"]|"([^"\\]|\\.)*")*\}' | grep -qE "$entry" && exit 0
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
    """Write the files, or compare them; the exit code is 1 if ``--check`` finds a difference, 2 for other words."""
    return write_or_compare("scripts.generate.claude_plugin", arguments, FOLDER, generate)


def generate() -> dict[str, str]:
    """Return the text of each file by its path below the source tree."""
    with TemporaryDirectory() as folder:
        wanted = first_party_registrations(Application.from_environ({**os.environ, HOME_VARIABLE: folder}))
    hooks: dict[str, list[object]] = {}
    for want in wanted:
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
