"""The hooks by which plugins take part in answering: channels, planners, terminals, gateways and composers.

What each contribution must do is said by the interface of the same name in :mod:`hookrouter.answering.interfaces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import AnswerChannel, KeystrokePlanner
    from hookrouter.composing import MessageComposer, MessageTracing
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.dialogs.linking import DialogLinks
    from hookrouter.messaging.gateway import Gateway
    from hookrouter.terminals import TerminalBackend

__all__ = ["AnswerSpecs"]


class AnswerSpecs:
    """The hooks of answering. Also a base class: override what the plugin implements."""

    @hookspec
    def answer_channel(self) -> AnswerChannel | None:
        """When: an answer is to be delivered, never in a hook process.

        Returns: ``None`` for no channel, or an object whose class derives from
        :class:`~hookrouter.answering.interfaces.AnswerChannel`. Its ``name`` is what ``[answer] channels`` in
        config.toml lists.

        Combined: The channels that config.toml lists are tried in its order until one takes the answer or refuses it.
        Of two plugins with one name the first in plugin order is used, and the other is reported.

        Args:
            (none): What a channel works on comes with each call of its ``deliver``.

        Example::

            @hookimpl
            def answer_channel():
                from hookrouter_carrier.channel import CarrierChannel

                return CarrierChannel()
        """

    @hookspec
    def dialog_kinds(self) -> list[DialogKind] | None:
        """When: somebody decides with ``hookrouter answer``, or an event of a session finds dialogs of it open.

        Returns: ``None`` for no kind, or a list of objects of classes that derive from
        :class:`~hookrouter.dialogs.kinds.DialogKind`. Its ``name`` is the ``kind`` of the documents that it is about.

        Combined: The kind that a document names is asked. Of two plugins with one name the first in plugin order is
        used, and the other is reported.

        Args:
            (none): What a kind works on comes with each call of its methods.

        Example::

            @hookimpl
            def dialog_kinds():
                from hookrouter_carrier.kinds import PermissionKind

                return [PermissionKind()]
        """

    @hookspec
    def keystroke_planner(self) -> KeystrokePlanner | None:
        """When: an answer is to be typed, never in a hook process.

        Returns: ``None`` for no planner, or an object whose class derives from
        :class:`~hookrouter.answering.interfaces.KeystrokePlanner`. Its ``name`` is what ``[answer] planner`` in
        config.toml names.

        Combined: The planner that config.toml names is used; for a kind of dialogs that it does not know, the first one
        that does. Of two plugins with one name the first in plugin order is used, and the other is reported.

        Args:
            (none): What a planner works on comes with each call of its ``next_step``.

        Example::

            @hookimpl
            def keystroke_planner():
                from hookrouter_carrier.planner import CarrierPlanner

                return CarrierPlanner()
        """

    @hookspec
    def terminal_backend(self) -> TerminalBackend | None:
        """When: a session's terminal is looked for, also in hook processes, so it must import little.

        Returns: ``None`` for no backend, or an object whose class derives from
        :class:`~hookrouter.terminals.TerminalBackend`. Its ``name`` is what ``[answer] terminal`` in
        config.toml names.

        Combined: The backend that config.toml names is asked first where a new session runs, then the others by name; a
        saved address is served by the backend that made it. Of two plugins with one name the first in plugin order is
        used, and the other is reported.

        Args:
            (none): What a backend works on comes with each call of its methods.

        Example::

            @hookimpl
            def terminal_backend():
                from hookrouter_carrier.terminal import CarrierTerminal

                return CarrierTerminal()
        """

    @hookspec
    def gateway(self) -> Gateway | None:
        """When: messages are delivered to agents and when config is checked, never in a hook process.

        Returns: ``None`` for no gateway, or an object whose class derives from
        :class:`~hookrouter.messaging.gateway.Gateway`. Its ``type`` is what the ``type`` of a table
        ``[gateways.NAME]`` in config.toml names.

        Combined: Each table of config.toml uses the gateway of its type. Of two plugins with one type the first in
        plugin order is used, and the other is reported.

        Args:
            (none): What a gateway works on comes with each call of its ``deliver``.

        Example::

            @hookimpl
            def gateway():
                from hookrouter_carrier.gateway import CarrierGateway

                return CarrierGateway()
        """

    @hookspec
    def dialog_links(self) -> DialogLinks | None:
        """When: a message about an open dialog goes out to a person, never in a hook process.

        Returns: ``None`` for no links, or an object whose class derives from
        :class:`~hookrouter.dialogs.linking.DialogLinks`. Its ``name`` is what it is known by.

        Combined: They are asked in plugin order; the first link is in the message. Of two plugins with one name the
        first in plugin order is used, and the other is reported.

        Args:
            (none): What a link is made from comes with each call of its ``link``.

        Example::

            @hookimpl
            def dialog_links():
                from hookrouter_carrier.links import CarrierLinks

                return CarrierLinks()
        """

    @hookspec
    def message_tracing(self) -> MessageTracing | None:
        """When: messages are delivered, or an agent answers; never in a hook process.

        Returns: ``None`` for no say, or an object whose class derives from
        :class:`~hookrouter.composing.MessageTracing`. Its ``name`` is what it is known by.

        Combined: Messages hand a W3C trace context on if one of them says so. Of two plugins with one name the first
        in plugin order is used, and the other is reported.

        Args:
            (none): What it goes by comes with each call of its ``is_on``.

        Example::

            @hookimpl
            def message_tracing():
                from hookrouter_carrier.tracing import CarrierTracing

                return CarrierTracing()
        """

    @hookspec
    def message_composer(self) -> MessageComposer | None:
        """When: messages are delivered to agents, never in a hook process.

        Returns: ``None`` for no composer, or an object whose class derives from
        :class:`~hookrouter.composing.MessageComposer`. Its ``name`` is what it is known by.

        Combined: Composers are asked in plugin order; the first one that returns a message completes it. Of two plugins
        with one name the first in plugin order is used, and the other is reported.

        Args:
            (none): What a composer works on comes with each call of its ``compose``.

        Example::

            @hookimpl
            def message_composer():
                from hookrouter_carrier.composer import CarrierComposer

                return CarrierComposer()
        """
