"""Opens the engine that ``[storage]`` in config.toml names."""

from __future__ import annotations

from socket import gethostname
from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter._plugins.registry import Plugins
    from hookrouter.config import StorageConfig
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import Storage, StorageEngine

__all__ = ["machine_name", "open_engine", "storage_engines"]


def open_engine(home: Home, config: StorageConfig, plugins: Plugins) -> Storage:
    """Return the documents that ``[storage]`` names. Raises StoreError if the engine is not there or refuses them."""
    place = f"{home.config_file}: storage"
    engine = storage_engines(plugins).get(config.engine)
    if engine is None:
        raise StoreError(
            f"{place}.engine is {config.engine!r}, and no active plugin offers it; see: hookrouter config check"
        )
    settings, problems = plugins.read_engine_settings(engine, config.settings)
    if problems:
        found = "; ".join(problem.line for problem in problems)
        raise StoreError(f"{home.config_file}: {found}; see: hookrouter config check")
    try:
        return engine.open(settings, machine_name(config), home.state)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"{place}: the engine {config.engine!r} failed: {describe_error(error)}") from error


def machine_name(config: StorageConfig) -> str:
    """Return what this machine is called beside the others: as config.toml says, else its host name."""
    return config.machine or gethostname() or "localhost"


def storage_engines(plugins: Plugins) -> dict[str, StorageEngine]:
    """Return the engines of documents that active plugins contribute, by name."""
    return plugins.contributions("storage_engine")
