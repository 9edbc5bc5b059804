"""Refuses to change files and folders of a project: by Write, Edit and NotebookEdit, and by command lines.

Of a program that hookrouter does not know, each path that it is given counts as changed. What a script changes
is not seen.
"""

import os
from collections.abc import Iterator

from hookrouter import Context, hookimpl
from hookrouter.events import PreToolUse
from hookrouter.markers import matching
from hookrouter.permission_rules.files import Folders, redirected, used_files
from hookrouter.permission_rules.paths import named_by
from hookrouter.records import FileInput
from hookrouter.replies import PreToolUseReply
from hookrouter.shell.commands import Reading
from hookrouter.tools import BashInput, typed_input

PROTECTED = (".env", ".git", "package-lock.json")  # from the project's folder; a folder means all that is in it
HARMLESS = ("[", "cd", "echo", "ls", "printf", "pwd", "test")


@matching("Write", "Edit", "NotebookEdit")
@hookimpl
def pre_tool_use(event: PreToolUse, context: Context) -> PreToolUseReply | None:
    call = typed_input(event)
    paths = call.writes(context.cwd) if isinstance(call, FileInput) else None
    if paths is None:  # missing, or not a string: refuse what you cannot read
        return PreToolUseReply.deny("It is not known which file this changes.")
    return check(paths[0], context)


@hookimpl
def pre_tool_use_bash(tool_input: BashInput, context: Context) -> PreToolUseReply | None:
    reading = tool_input.commands()
    paths = list(changed(reading, context.cwd))
    refused = next((reply for path in paths if path and (reply := check(path, context))), None)
    if refused is None and (None in paths or not reading.certain):
        return PreToolUseReply.ask("it is not certain which files this line changes")
    return refused


def check(path: str, context: Context) -> PreToolUseReply | None:
    """Refuse a path that is protected, or in a protected folder; one that ends with "/" is changed with all in it."""
    for kept in (os.path.join(context.project, name) for name in PROTECTED):
        for one, other in ((os.path.normpath(path), kept), (os.path.realpath(path), os.path.realpath(kept))):
            if f"{one}/".startswith(f"{other}/") or (path.endswith("/") and f"{other}/".startswith(f"{one}/")):
                return PreToolUseReply.deny(f"{kept} is protected.")
    return None


def changed(reading: Reading, cwd: str) -> Iterator[str | None]:
    """Yield the paths that a command line changes; None for one that is not known before it runs."""
    folders = Folders(cwd, reading.text)
    home = folders.home
    for command in reading.commands:
        uses = list(used_files(command, home))
        for use in (*uses, *redirected(command.redirections, home)):
            if use.writes:
                yield from absolute(use.named.path, folders, "/" if use.with_content else "")
        if not uses and os.path.basename(command.name or "") not in HARMLESS:
            for word in command.words[1:]:
                if path := named_by(word, home).path:
                    yield from absolute(path.rpartition("=")[2], folders)
        folders.follow(command)
    for use in redirected(reading.redirections, home):
        if use.writes:
            yield from absolute(use.named.path, folders)


def absolute(path: str | None, folders: Folders, end: str = "") -> Iterator[str | None]:
    if path is None or not (folders.known or path.startswith("/")):
        yield None
    else:
        yield from (os.path.join(base, path) + end for base in folders.bases)
