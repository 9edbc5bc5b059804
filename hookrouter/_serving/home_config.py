"""The configuration, as the router and its gate read it beside the calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter import _wiring
from hookrouter._config.cache import load

if TYPE_CHECKING:
    from hookrouter.config import Config
    from hookrouter.storage.home import Home

__all__ = ["load_config"]


def load_config(home: Home) -> Config:
    """Return a home's configuration. Raises nothing.

    Whoever is the first to read a file that was corrected has what waits for it delivered, so these processes do, too:
    a call that comes later does not know of the change.
    """
    return load(home, lambda was_broken: _wiring.deliver_anew(os.environ, home, was_broken=was_broken))
