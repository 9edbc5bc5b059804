"""Which files a command of the shell reads and writes, as far as its words say so.

Redirections, and the usual programs whose arguments are files (POSIX and GNU manuals). What another program does with
the words that it gets is not known.
"""

from __future__ import annotations

import os
import re
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.permission_rules.paths import path_of, prefix_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookrouter.shell.commands import Redirection, SimpleCommand, Word

__all__ = ["FileUse", "Folders", "redirected", "used_files"]

_CHANGES_ALL = frozenset(
    ["touch", "rm", "unlink", "shred", "rmdir", "mkdir", "mv", "tee", "truncate", "chmod", "chown", "chgrp"]
)
_CHANGES_LAST = frozenset(["cp", "install", "ln", "rsync", "scp"])
_COPIES = _CHANGES_LAST | {"mv"}
_CHANGES_IN_PLACE = frozenset(["sed", "perl", "gsed"])
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i.*|--in-place.*")
_WITH_CONTENT = frozenset(["rm", "mv", "shred", "chmod", "chown", "chgrp", "rsync"])
"""Programs that may be told of a folder and mean what is in it."""
_READS_ALL = frozenset(
    [
        "cat",
        "tac",
        "nl",
        "head",
        "tail",
        "less",
        "more",
        "wc",
        "sort",
        "uniq",
        "cut",
        "paste",
        "tr",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "sed",
        "awk",
        "gawk",
        "mawk",
        "perl",
        "diff",
        "cmp",
        "comm",
        "join",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "sha512sum",
        "cksum",
        "xxd",
        "od",
        "hexdump",
        "strings",
        "base64",
        "base32",
        "file",
        "stat",
        "jq",
        "yq",
        "column",
        "fold",
        "fmt",
        "rev",
        "split",
        "tar",
        "zip",
        "gzip",
        "bat",
        "source",
        ".",
    ]
)
_DEVICES = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin"])


_MOST_FOLDERS = 32


class FileUse(NamedTuple):
    """One file, or what may be one, that a command reads or writes."""

    writes: bool
    word: Word
    path: str | None
    """As it is written, without quotes; None if it is not known."""
    prefix: str
    """Of a path that is not known: what it begins with, if that can be relied on."""
    by_shell: bool
    """Whether the shell opens it, for a redirection."""
    with_content: bool = False
    """Whether all that is in it is meant, if it is a folder."""


class Folders:
    """The folders that relative paths of a line may be meant from, while its commands are gone through."""

    def __init__(self, cwd: str) -> None:
        """Begin in a folder."""
        self.bases: tuple[str, ...] = (cwd,)
        self.known = True
        """False once a command has gone to a folder that is not known."""

    def follow(self, command: SimpleCommand) -> None:
        """Take a change of folder into account: what comes behind it may be meant from there."""
        if command.name not in ("cd", "pushd", "popd") and command.name != "chdir":
            return
        words = [word for word in command.words[1:] if word.value not in ("-P", "-L", "--", "-e")]
        path = path_of(words[0]) if len(words) == 1 else os.path.expanduser("~") if not words else None
        if command.name == "popd" or path is None or path == "-":
            self.known = False
            return
        reached = (os.path.normpath(os.path.join(base, path)) for base in self.bases)
        # It may fail, or run in a process of its own.
        found = [*self.bases, *reached]
        if len(found) > _MOST_FOLDERS:
            self.known = False
            return
        self.bases = tuple(dict.fromkeys(reversed(found)))[::-1]


def redirected(redirections: Iterable[Redirection]) -> Iterator[FileUse]:
    """Yield the files that redirections open, but for the devices that every program has."""
    for one in redirections:
        if one.target is None or one.direction in ("duplicate", "close", "here-document", "here-string"):
            continue
        path = path_of(one.target)
        if path is not None and (path in _DEVICES or path.startswith("/dev/fd/")):
            continue
        for writes in (False, True) if one.direction == "in and out" else (one.direction != "in",):
            yield FileUse(writes, one.target, path, prefix_of(one.target), by_shell=True)


def used_files(command: SimpleCommand) -> Iterator[FileUse]:
    """Yield the files that a known program is told to read or write."""
    name = os.path.basename(command.name or "")
    arguments = command.words[1:]
    if name == "dd":
        for word in arguments:
            key, equals, path = (word.prefix).partition("=")
            if equals and key in ("of", "if"):
                known = path if word.value is not None else None
                yield FileUse(key == "of", word, known, "", by_shell=False)
        return
    files = [word for word in arguments if not word.prefix.startswith("-") and word.value != ""]
    yield from _written(name, arguments, files)
    if name == "find":
        yield from _found(arguments)
    if name in _READS_ALL:
        yield from (_use(word, writes=False) for word in files)
    elif name in _COPIES:
        yield from (_use(word, writes=False) for word in files if word is not _last(arguments, files))


def _written(name: str, arguments: Sequence[Word], files: Sequence[Word]) -> Iterator[FileUse]:
    with_content = name in _WITH_CONTENT
    if name in _CHANGES_ALL:
        yield from (_use(word, writes=True, with_content=with_content) for word in files)
    elif name in _CHANGES_IN_PLACE:
        if any(_IN_PLACE.fullmatch(word.prefix) for word in arguments):
            yield from (_use(word, writes=True) for word in files)
    elif name in _CHANGES_LAST and files:
        target = _last(arguments, files)
        yield _use(target, writes=True, with_content=with_content)
        folder = path_of(target)
        for word in files:
            path = path_of(word)
            if word is not target and folder is not None and path is not None:
                yield FileUse(True, target, os.path.join(folder, os.path.basename(path)), "", by_shell=False)


def _found(arguments: Sequence[Word]) -> Iterator[FileUse]:
    """Yield what ``find`` itself deletes and writes."""
    starts = list(takewhile(lambda word: not word.prefix.startswith(("-", "(", "!")), arguments))
    for at, word in enumerate(arguments):
        if word.value == "-delete":
            # With anything that chooses it is not known what.
            chooses = any(one.value not in ("-delete", "-depth") for one in arguments[len(starts) :])
            for path in [path_of(start) for start in starts] or ["."]:
                yield FileUse(True, word, None if chooses else path, "", by_shell=False, with_content=True)
        elif word.value in ("-fprint", "-fprint0", "-fls", "-fprintf") and at + 1 < len(arguments):
            yield _use(arguments[at + 1], writes=True)


def _last(arguments: Sequence[Word], files: Sequence[Word]) -> Word:
    """Return where files are copied to: the folder that ``-t`` names, or the last one."""
    for at, word in enumerate(arguments[:-1]):
        if word.value in ("-t", "--target-directory"):
            return arguments[at + 1]
    return files[-1]


def _use(word: Word, *, writes: bool, with_content: bool = False) -> FileUse:
    return FileUse(writes, word, path_of(word), prefix_of(word), by_shell=False, with_content=with_content)
