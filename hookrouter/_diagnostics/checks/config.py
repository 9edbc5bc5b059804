"""Is config.toml usable?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter.context import Services


__all__ = ["ConfigCheck"]


class ConfigCheck:
    """The file as a whole; what its tables name is looked at by the checks of these subjects."""

    name = "config"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        path = place.app.home.config_file
        if place.app.config.problems:
            for located in place.config_problems:
                where = path if located.line is None else f"{path}:{located.line}"
                yield Finding(
                    ERROR, self.name, located.problem.line, f"edit {where}; until then {_meanwhile(place.app)}"
                )
        else:
            yield Finding(OK, self.name, path if os.path.exists(path) else f"no {path}: the defaults hold")


def _meanwhile(app: Services) -> str:
    """Say what holds while the config cannot be used."""
    plugins = app.config.plugins
    kept = {
        "fail closed": [name for name, entry in plugins.items() if entry.on_error == "closed"],
        "disabled": [name for name, entry in plugins.items() if not entry.enabled],
    }
    stay = " and ".join(f"{state}: {', '.join(names)}" for state, names in kept.items() if names)
    return (
        "agents, gateways and answering are as the last file without problems said; plugins that this file or that one "
        f"closes or disables stay so ({stay or 'none'})"
    )
