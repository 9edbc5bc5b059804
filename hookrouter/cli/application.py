"""The core's services as a command of the command line gets them."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from hookrouter import _wiring
from hookrouter._plugins.discovery import load_config, load_index, resolve_settings
from hookrouter._plugins.project import with_project
from hookrouter._plugins.registry import Plugins
from hookrouter.config import FILES
from hookrouter.context import Services
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.util.process_log import is_structured, tell
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

__all__ = ["Application"]


class Application(Services):
    """Home, config, plugins, documents, outbox and journal of one environment."""

    @classmethod
    def from_environ(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        scan: bool = False,
        share: bool = True,
        project: str | None = None,
    ) -> Application:
        """Build the services for an environment (this process's by default). Problems of plugins are journalled.

        With ``scan`` the installed plugins are looked at anew, however fresh the index of the last scan looks. The
        first to read a config.toml that has changed has another process deliver what waits, and bring to its agents
        what was asked while the file had problems. With another engine than files, the process that writes documents to
        it is started unless ``share`` is False. ``project``: a folder, with whose own plugins it is to be if they are
        trusted.
        """
        variables = os.environ if environ is None else environ
        home = Home.from_environ(variables)
        config = load_config(home, variables, lambda broken: _wiring.deliver_anew(variables, home, was_broken=broken))
        journal = Journal(home.logs)

        def report(plugin: str, text: str) -> None:
            journal.write({"level": "warning", "reason": f"plugin {plugin}: {text}"}, None)

        with _waiting():
            index = load_index(home, variables, anew=scan)
            settings = resolve_settings(home, index, config)
            if project is not None:
                index, config, settings, _ = with_project(home, variables, project, index, config, settings)
        plugins = Plugins(index, config, report, settings=settings)
        if share and config.storage.engine != FILES:
            with suppress(OSError):
                # What a command writes is brought to the others too; the next one tries again.
                _wiring.start_sharing(variables, home, plugins)
        return cls(home=home, config=config, environ=variables, plugins=plugins, journal=journal, wiring=_wiring)

    def warn(self, text: str) -> None:
        """Journal something that went wrong and did not stop the work, and tell whoever runs the command."""
        super().warn(text)
        if is_structured():
            tell(text, event="warning")
        else:
            sys.stderr.write(f"hookrouter: {printable(text)}\n")


def _waiting() -> AbstractContextManager[object]:
    """Tell a person at a terminal what takes so long, if plugins have to be looked at anew."""
    if not sys.stderr.isatty():
        return nullcontext()
    from hookrouter.cli.terminal import Waiting

    return Waiting("hookrouter: looking at the plugins")
