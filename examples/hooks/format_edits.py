"""Formats each file that Claude has written or edited, and tells Claude when that changed it."""

import os
import subprocess

from hookrouter import Context, hookimpl
from hookrouter.replies import PostToolUseReply
from hookrouter.tools import EditInput, WriteInput

FORMATTERS = {
    ".py": ["ruff", "format", "--quiet"],
    ".go": ["gofmt", "-w"],
    ".rs": ["rustfmt"],
    ".ts": ["prettier", "--write", "--log-level=warn"],
}
SECONDS = 8


@hookimpl
def post_tool_use_edit(tool_input: EditInput, context: Context) -> PostToolUseReply | None:
    return format_file(tool_input.writes(context.cwd), context)


@hookimpl
def post_tool_use_write(tool_input: WriteInput, context: Context) -> PostToolUseReply | None:
    return format_file(tool_input.writes(context.cwd), context)


def format_file(paths: tuple[str, ...] | None, context: Context) -> PostToolUseReply | None:
    path = paths[0] if paths else ""
    formatter = FORMATTERS.get(os.path.splitext(path)[1])
    if formatter is None or not os.path.isfile(path):
        return None
    before = content(path)
    try:
        done = subprocess.run([*formatter, path], cwd=context.cwd, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        context.warn(f"{formatter[0]} could not format {path}: {error}")  # in the journal: hookrouter logs
        return None
    if done.returncode != 0:
        return PostToolUseReply.context(f"{formatter[0]} cannot format {path}:\n{(done.stderr or done.stdout)[-1000:]}")
    if content(path) == before:
        return None
    return PostToolUseReply.context(f"{formatter[0]} has formatted {path}: read it again before you edit it.")


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
