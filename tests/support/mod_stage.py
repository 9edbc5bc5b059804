"""A stage on which the mod is installed, as ``hookrouter install --front mod`` lays it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrouter._installation.registrations import registration_sources, wanted_registrations
from hookrouter._mod.folder import mod_files, write_mod
from hookrouter._mod.routes import routes
from hookrouter._mod.settings_keys import with_mod
from hookrouter.cli.application import Application
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from hookrouter._sandbox.stage import Stage

__all__ = ["install_mod"]


def install_mod(stage: Stage) -> None:
    """Write the mod into the stage's home, and its keys beside the entries in the client's settings."""
    app = Application.from_environ(stage.environ, scan=True)
    wanted = wanted_registrations(app)
    found = routes(wanted, registration_sources(app.plugins.listing(), app.config))
    folder = write_mod(stage.home, mod_files(stage.home, found, script_argv(), stage.home.root))
    text = json.dumps(stage.client_home.read_settings())
    stage.client_home.write_settings(json.loads(with_mod(text, folder)))
