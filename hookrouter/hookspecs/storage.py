"""The hook by which plugins bring engines that keep documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from hookrouter.storage.interface import StorageEngine

__all__ = ["StorageSpecs"]


class StorageSpecs:
    """The hook of storage. Also a base class: override what the plugin implements."""

    @hookspec
    def storage_engine(self) -> StorageEngine | None:
        """When: documents are first opened in a process, if config.toml chooses another engine than files.

        Returns: ``None`` for no engine, or an object with the members of
        :class:`~hookrouter.storage.interface.StorageEngine`. Its ``name`` is what ``[storage] engine`` in config.toml
        says. Keep whatever takes long to import out of the plugin's module: hook runs load it.

        Combined: The engine that config.toml names is used for all questions, answers, queues and messages; without
        it nothing is kept elsewhere instead, and what needs a document fails with the reason. Of two plugins with one
        name the first in plugin order is used, and the other is reported.

        Args:
            (none): The keys of ``[storage]`` come with the call of its ``open``.

        Example::

            @hookimpl
            def storage_engine():
                from hookrouter_carrier.storage import CarrierStorage

                return CarrierStorage()
        """
