"""What a router says of its home, beside what it counts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._plugins.index import read_cache
from hookrouter._plugins.registry import Plugins, PluginStatus
from hookrouter._serving.home_config import load_config
from hookrouter.messaging.environment import named_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.home import Home

__all__ = ["home_facts"]


def home_facts(home: Home, environ: Mapping[str, str]) -> dict[str, list[str]]:
    """Return ``plugins``, the names of those that are active, and ``missing_variables``.

    The latter are those that tables of gateways name and ``environ``, the router's own environment, lacks: what the
    router itself delivers goes without them. Reads only what every call reads. Raises OSError if no descriptor is left.
    """
    config = load_config(home)
    listing = Plugins(read_cache(home), config, lambda _plugin, _text: None).listing()
    return {
        "plugins": [info.name for info in listing if info.status == PluginStatus.ACTIVE],
        "missing_variables": [name for name in named_variables(config.gateways.values()) if not environ.get(name)],
    }
