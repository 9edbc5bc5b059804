"""The hook by which a plugin declares its settings."""

from __future__ import annotations

from typing import Any

from hookrouter.markers import hookspec

__all__ = ["SettingsSpecs"]


class SettingsSpecs:
    """The hook of a plugin's settings. Also a base class: override what the plugin implements."""

    @hookspec
    def plugin_settings(self) -> type[Any] | None:
        """When: the plugin is inspected after an installation, or its settings have changed; never in a hook process.

        Returns: ``None`` for no settings, or an attrs class whose fields are the keys of ``[plugins.NAME.settings]``.
        Fields may be texts, numbers, flags, paths, lists, tuples, sets, tables, Literals, Enums, further attrs classes
        and unions of them; validators are run; ``metadata={"help": "..."}`` explains a field. Keep the class in a
        module of its own and import it here, so that a hook run does not load attrs for nothing.

        Combined: Each plugin declares its own. In a hook, ``context.settings(Settings)`` returns an object of the class
        and ``context.settings("name")`` the same as plain values, defaults filled in. If the table is wrong, the
        plugin gets its defaults and ``hookrouter config check`` says why; a plugin that is set to fail closed, or that
        requires a key, does not run at all.

        Args:
            (none): The class alone says what is allowed.

        Example::

            @hookimpl
            def plugin_settings():
                from hookrouter_carrier.settings import CarrierSettings

                return CarrierSettings
        """

    @hookspec
    def config_table(self) -> str | None:
        """When: with ``plugin_settings``, whose class says what the table takes; never in a hook process.

        Returns: ``None``, or the name of a table of its own in ``config.toml``, in small letters, digits, ``-`` and
        ``_``, where the plugin's settings stand instead of in ``[plugins.NAME.settings]``: ``"carrier"`` for
        ``[carrier]``.

        Combined: Each plugin has at most one. A plugin that names a table of hookrouter's, or one that a plugin before
        it has, is broken. The table of a plugin that is switched off is no mistake; ``hookrouter config check`` tells
        of it.

        Args:
            (none): The name is looked at when the plugin is, not when the file is read.

        Example::

            @hookimpl
            def config_table():
                return "carrier"
        """
