"""The core's services as a command of the command line gets them."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from hookrouter.config import load as load_config
from hookrouter.context import Services
from hookrouter.discovery import load_index
from hookrouter.home import Home
from hookrouter.journal import Journal
from hookrouter.names import printable
from hookrouter.plugin_settings import settle
from hookrouter.registry import Plugins

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

__all__ = ["Application"]


class Application(Services):
    """Home, config, plugins, documents, outbox and journal of one environment."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Application:
        """Build the services for an environment (this process's by default). Problems of plugins are journalled."""
        variables = os.environ if environ is None else environ
        home = Home.from_environ(variables)
        config = load_config(home)
        journal = Journal(home.logs)

        def report(plugin: str, text: str) -> None:
            journal.write({"level": "warning", "reason": f"plugin {plugin}: {text}"}, None)

        with _waiting():
            index = load_index(home, variables)
            settings = settle(home, index, config)
        plugins = Plugins(index, config, report, settings=settings)
        return cls(home=home, config=config, environ=variables, plugins=plugins, journal=journal)

    def warn(self, text: str) -> None:
        """Journal something that went wrong and did not stop the work, and tell whoever runs the command."""
        super().warn(text)
        sys.stderr.write(f"hookrouter: {printable(text)}\n")


def _waiting() -> AbstractContextManager[object]:
    """Tell a person at a terminal what takes so long, where plugins have to be looked at anew."""
    if not sys.stderr.isatty():
        return nullcontext()
    from hookrouter.cli.terminal import Waiting

    return Waiting("hookrouter: looking at the plugins")
