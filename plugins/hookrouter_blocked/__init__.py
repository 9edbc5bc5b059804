"""Brings to the session's agent what stops a session and no hook tells of: the client's own dialogs.

Such are the trust in a workspace, the approval of a project's MCP servers, a message from another session, a picker
that was left open. Every few seconds the clients of managed sessions are looked at from outside, by the client's own
registry of sessions and by the screen (:mod:`hookrouter.sessions`). A dialog that stays is saved and told like a
question (:mod:`hookrouter.dialogs`), once; a row of it is chosen by keys, where ``[approvals] rows`` allows that.

This module holds the hooks only. What they need is imported when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.sessions.watching import SessionWatcher
    from hookrouter_blocked.settings import BlockedSettings

__all__: list[str] = []


@hookimpl
@stateless
def session_watcher() -> SessionWatcher:
    """Look for sessions that are stopped."""
    from hookrouter_blocked.watcher import BlockedWatcher

    return BlockedWatcher()


@hookimpl
@stateless
def dialog_kinds() -> list[DialogKind]:
    """Contribute the kind of dialogs that no hook tells of."""
    from hookrouter_blocked.kind import BlockedKind

    return [BlockedKind()]


@hookimpl
@stateless
def plugin_settings() -> type[BlockedSettings]:
    """Declare the settings of this plugin."""
    from hookrouter_blocked.settings import BlockedSettings

    return BlockedSettings
