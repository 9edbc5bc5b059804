"""The hooks by which plugins keep documents in an engine, and share it between machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.sharing import Sharing
    from hookrouter.storage.home import DocumentKind
    from hookrouter.storage.interface import StorageEngine

__all__ = ["StorageSpecs"]


class StorageSpecs:
    """The hooks of storage. Also a base class: override what the plugin implements."""

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

    @hookspec
    def document_kinds(self) -> Sequence[DocumentKind] | None:
        """When: a process begins that writes this machine's documents to the engine of ``[storage]``, or a command
        works on that engine; never in a hook process.

        Returns: ``None`` for nothing, or a list of :class:`~hookrouter.storage.home.DocumentKind`, those of the
        plugin's own documents that are ``shared``: other machines read them there, and a machine whose disk is lost
        gets them back. A plugin's other documents stay on their machine.

        Combined: All are written to the engine, beside hookrouter's own. Of two plugins with one kind the second one is
        reported. What the engine has of a plugin that is switched off stays there.

        Args:
            (none): The documents are those that the plugin writes by ``context.store``.

        Example::

            @hookimpl
            def document_kinds():
                from hookrouter.storage.home import DocumentKind

                return [DocumentKind("parcel", shared=True)]
        """

    @hookspec
    def machines(self) -> Sharing | None:
        """When: ``[storage]`` in config.toml names another engine than files, and a command first asks for the other
        machines, or the process begins that writes this machine's documents to the engine; never in a hook process.

        Returns: ``None`` for nothing, or an object of a class that derives from :class:`~hookrouter.sharing.Sharing`:
        it writes documents to the engine, and knows the machines that share it. Keep whatever takes long to import out
        of the plugin's module.

        Combined: Exactly one active plugin may have this hook; ``fleet`` has it, so switch that off for another one.
        With none or several of them other machines are not asked and nothing is shared: ``hookrouter config check`` and
        ``hookrouter doctor`` say so, and this machine works on its own.

        Args:
            (none): What it works on comes with each call of its methods.

        Example::

            @hookimpl
            def machines():
                from hookrouter_convoy.sharing import Convoy

                return Convoy()
        """
