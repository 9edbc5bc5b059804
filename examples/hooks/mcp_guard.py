"""Decides about the tools of MCP servers by globs on ``server/tool``; what no glob fits is asked about.

In config.toml, with lists of your own:

    [plugins.mcp_guard.settings]
    allow = ["github/get_*", "docs/*"]
    deny = ["*/delete_*"]
"""

from fnmatch import fnmatchcase

from hookrouter import Context, hookimpl
from hookrouter.replies import PreToolUseReply


@hookimpl
def plugin_settings() -> type[object]:
    import attrs  # not in hook runs

    @attrs.frozen
    class Settings:
        allow: tuple[str, ...] = ("*/get_*", "*/list_*", "*/search_*")
        deny: tuple[str, ...] = ("*/delete_*",)

    return Settings


@hookimpl
def pre_tool_use_mcp(server: str, tool: str, context: Context) -> PreToolUseReply | None:
    settings = context.settings("mcp_guard")
    name = f"{server}/{tool}"
    if any(fnmatchcase(name, glob) for glob in globs(settings["deny"])):
        return PreToolUseReply.deny(f"{name} is not allowed here.")
    if any(fnmatchcase(name, glob) for glob in globs(settings["allow"])):
        return None  # Claude Code's own rules decide
    return PreToolUseReply.ask(f"no rule names {name}")


def globs(value: object) -> list[str]:
    return [str(glob) for glob in value] if isinstance(value, list | tuple) else []
