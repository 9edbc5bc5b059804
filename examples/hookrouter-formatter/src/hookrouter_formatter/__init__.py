"""A hookrouter plugin that formats what Claude writes, and tells it when that changed the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import PostToolUseSpecs, SettingsSpecs
from hookrouter.replies import PostToolUseReply

if TYPE_CHECKING:
    from hookrouter import Context
    from hookrouter.events import PostToolUse
    from hookrouter.tools import EditInput, EditOutput, WriteInput, WriteOutput

    from hookrouter_formatter.settings import Settings


class Formatter(PostToolUseSpecs, SettingsSpecs):
    """Runs the formatter of a file's suffix after ``Edit`` and ``Write``."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_formatter.settings import Settings

        return Settings

    @hookimpl
    @override
    def post_tool_use_edit(
        self, event: PostToolUse, tool_input: EditInput, tool_response: EditOutput, context: Context
    ) -> PostToolUseReply | None:
        return _format(tool_input.file_path, context)

    @hookimpl
    @override
    def post_tool_use_write(
        self, event: PostToolUse, tool_input: WriteInput, tool_response: WriteOutput, context: Context
    ) -> PostToolUseReply | None:
        return _format(tool_input.file_path, context)


def _format(path: str | None, context: Context) -> PostToolUseReply | None:
    import subprocess

    from hookrouter_formatter.settings import Settings

    if path is None:
        # A path that is no text: Claude Code has refused the call, or it is a client that this was not written for.
        return None
    settings = context.settings(Settings)
    path = os.path.join(context.cwd, path)
    formatter = settings.formatters.get(os.path.splitext(path)[1])
    if not formatter or not os.path.isfile(path):
        return None
    argv = [path if word == "{file}" else word for word in formatter]
    before = _content(path)
    try:
        done = subprocess.run(
            argv, cwd=context.cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=settings.timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        context.warn(f"{argv[0]} could not format {path}: {error}")
        return None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-1000:]
        return PostToolUseReply.context(f"{argv[0]} cannot format {path} (exit code {done.returncode}):\n{said}")
    if _content(path) == before:
        return None
    return PostToolUseReply.context(f"{argv[0]} has formatted {path}: read it again before you edit it.")


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
