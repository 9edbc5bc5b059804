"""Is Claude Code there, in a version whose question dialog is known?"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.checks.system import ask
from hookrouter._installation.registrations import wanted_registrations
from hookrouter.storage.journal_query import entries, is_hook_run
from hookrouter.util.clock import local, now
from hookrouter.util.fields import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place


__all__ = ["ClientCheck"]

MINIMUM_CLIENT = (2, 0, 76)
"""The oldest Claude Code whose question dialog is known."""

FAILURE_CLIENT = (2, 1, 295)
"""The oldest Claude Code that knows ``onFailure``."""

_CLIENT_SECONDS = 20.0

_RECENT_SECONDS = 86400.0
"""How long ago a hook run still shows that a client is there."""


class ClientCheck:
    """The client that is on PATH."""

    name = "client"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        app = place.app
        fix = "npm install -g @anthropic-ai/claude-code"
        path = shutil.which("claude", path=app.environ.get("PATH"))
        if path is None:
            message = "Claude Code (claude) is not on PATH, its version is not known"
            if last := _last_run(place):
                # It is there, so what is missing is not an installation.
                message += f", though its hooks ran at {local(last)}"
                fix = "add the folder of the claude that runs to PATH, or run doctor where claude can be started"
            yield Finding(WARNING, "client", message, fix)
            return
        output, problem = ask([path, "--version"], _CLIENT_SECONDS)
        version = re.search(r"(\d+)\.(\d+)\.(\d+)", output)
        minimum = ".".join(map(str, MINIMUM_CLIENT))
        if problem or version is None:
            said = problem or f"it says {output!r}"
            yield Finding(WARNING, "client", f"{path} --version does not tell its version: {said}", fix)
            return
        known = tuple(map(int, version.groups()))
        if known < MINIMUM_CLIENT:
            yield Finding(
                ERROR, "client", f"Claude Code {version[0]} at {path} is older than {minimum}", "claude update"
            )
            return
        yield Finding(OK, "client", f"Claude Code {version[0]} at {path}")
        if known < FAILURE_CLIENT and any(want.block_on_failure for want in wanted_registrations(app)):
            since = ".".join(map(str, FAILURE_CLIENT))
            yield Finding(
                WARNING,
                "client",
                f"Claude Code {version[0]} is older than {since}: it lets a call through if a plugin that is set to "
                "fail closed crashes the whole hook",
                "claude update",
            )


def _last_run(place: Place) -> str:
    """Return when a hook ran last in these days, as the journal has it; empty if none did."""
    recent = entries(place.app.journal, now() - _RECENT_SECONDS)
    return max((text(entry.record, "at") for entry in recent if is_hook_run(entry.record)), default="")
