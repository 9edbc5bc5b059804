"""The hook by which plugins bring prompts and commands into sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptChannel

__all__ = ["PromptSpecs"]


class PromptSpecs:
    """The hooks of prompting. Also a base class: override what the plugin implements."""

    @hookspec
    def prompt_channel(self) -> PromptChannel | None:
        """When: an item of a session's queue is to be submitted.

        Returns: ``None`` for no channel, or an object whose class derives from
        :class:`~hookrouter.queue.channels.PromptChannel`. Its ``name`` is what ``[sessions] channels`` in config.toml
        lists.

        Combined: The channels that config.toml lists are tried in its order until one submits the item, or says that
        it is not the time for it. Of two plugins with one name the first in plugin order is used, and the other is
        reported.

        Args:
            (none): What a channel works on comes with each call of its ``submit``.

        Example::

            @hookimpl
            def prompt_channel():
                from hookrouter_carrier.prompts import CarrierPrompts

                return CarrierPrompts()
        """
