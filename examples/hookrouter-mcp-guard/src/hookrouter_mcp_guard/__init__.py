"""A hookrouter plugin that allows and refuses the tools of MCP servers by globs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from hookrouter import hookimpl, override
from hookrouter.hookspecs import PreToolUseSpecs, SettingsSpecs
from hookrouter.replies import PreToolUseReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import Context
    from hookrouter.events import PreToolUse

    from hookrouter_mcp_guard.settings import Settings


class McpGuard(PreToolUseSpecs, SettingsSpecs):
    """Decides about ``server/tool``: ``deny`` first, then ``ask``, then ``allow``, then ``otherwise``."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_mcp_guard.settings import Settings

        return Settings

    @hookimpl
    @override
    def pre_tool_use_mcp(
        self, event: PreToolUse, server: str, tool: str, tool_input: Mapping[str, Any], context: Context
    ) -> PreToolUseReply | None:
        from hookrouter_mcp_guard.settings import Settings

        settings = context.settings(Settings)
        name = f"{server}/{tool}"
        for verdict in ("deny", "ask", "allow"):
            for glob in getattr(settings, verdict):
                if fnmatchcase(name, glob):
                    return _reply(verdict, f"mcp-guard: {name} matches {glob!r}")
        return _reply(settings.otherwise, f"mcp-guard: no rule names {name}")


def _reply(verdict: str, reason: str) -> PreToolUseReply | None:
    if verdict == "deny":
        return PreToolUseReply.deny(reason)
    if verdict == "ask":
        return PreToolUseReply.ask(reason)
    return PreToolUseReply.allow(reason) if verdict == "allow" else None
