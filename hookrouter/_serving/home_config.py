"""The configuration, as the router and its gate read it beside the calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter import _wiring
from hookrouter._plugins import discovery
from hookrouter.config import Config

if TYPE_CHECKING:
    from hookrouter.storage.home import Home

__all__ = ["load_config"]


def load_config(home: Home) -> Config:
    """Return a home's configuration; the one before, if it cannot be read for want of descriptors. Raises nothing.

    Whoever is the first to read a file that was corrected has what waits for it delivered, so these processes do, too:
    a call that comes later does not know of the change.
    """
    try:
        config = discovery.load_config(
            home, os.environ, lambda was_broken: _wiring.deliver_anew(os.environ, home, was_broken=was_broken)
        )
    except OSError:
        return _former.get(home.config_file, Config())
    _former[home.config_file] = config
    return config


_former: dict[str, Config] = {}
"""The configuration that was read last, by its file."""
