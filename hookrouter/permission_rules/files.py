"""Which files a command of the shell reads and writes, as far as its words say so.

Redirections, and the usual programs whose arguments are files (POSIX and GNU manuals). What another program does with
the words that it gets is not known.
"""

from __future__ import annotations

import os
from itertools import takewhile

from hookrouter.permission_rules.paths import Named, named_by
from hookrouter.util.lazy_pattern import DOTALL, LazyPattern
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from hookrouter.shell.commands import Reading, Redirection, SimpleCommand, Word

__all__ = ["FileUse", "Folders", "named_paths", "redirected", "used_files"]

_CHANGES_ALL = frozenset(
    [
        "touch", "rm", "unlink", "shred", "rmdir", "mkdir", "mv", "tee", "truncate", "chmod", "chown", "chgrp", "ln",
        "patch", "sponge", "git mv", "git rm",
    ]
)  # fmt: skip
_PACKS = frozenset(["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz"])
_ONLY_SHOWS = LazyPattern(r"-[a-zA-Z0-9]*[clt][a-zA-Z0-9]*|--stdout|--to-stdout|--list|--test")
"""Options with which those leave the files as they are."""
_CHANGES_SECOND = frozenset(["uniq", "xxd"])
_NUMBER = LazyPattern(r"[+-]?(?:[0-9]+|0x[0-9a-fA-F]+)")
_CHANGES_LAST = frozenset(["cp", "install", "rsync", "scp"])
_LINKS = LazyPattern(r"-[a-zA-Z]*[ls][a-zA-Z]*|--link|--symbolic-link")
"""Options of ``cp`` that make links: whoever writes to one writes to the other."""
_OUTPUT = {
    "curl": ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"),
    "wget": ("-O", "--output-document", "-o", "--output-file"),
    "git": ("--output",),
    "iconv": ("-o", "--output"),
    "patch": ("-o", "--output"),
    "shuf": ("-o", "--output"),
    "sort": ("-o", "--output"),
    "ss": ("-D", "--diag"),
    "terraform": ("-out",),
    "time": ("-o", "--output"),
    "tree": ("-o",),
    "openssl": ("-out",),
    "pandoc": ("-o", "--output"),
    "gcc": ("-o",),
    "g++": ("-o",),
    "cc": ("-o",),
    "clang": ("-o",),
}
"""The options that name a file to be written, by program."""
_INPUT = {
    "date": ("-f", "--file"),
    "egrep": ("-f", "--file"),
    "fgrep": ("-f", "--file"),
    "grep": ("-f", "--file"),
    "rg": ("-f", "--file"),
    "sort": ("--files0-from",),
    "wc": ("--files0-from",),
    "du": ("--files0-from",),
    "git": ("--contents", "--file", "-f"),
    "hostname": ("-F", "--file"),
    "ss": ("-F", "--filter"),
    "xargs": ("-a", "--arg-file"),
}
"""The options that name a file whose lines are shown, if only as faults."""
_LOGS = ("GIT_TRACE", "SSLKEYLOGFILE", "TF_LOG_PATH")
"""How variables begin that name a file to which programs write."""
_COPIES = _CHANGES_LAST | {"mv"}
_TAKES_FOLDER = frozenset(["cp", "install", "ln", "mv"])
_INTO = LazyPattern(r"-[^-Sgmot]*t(?P<short>.*)|--t[a-z-]*(?:=(?P<long>.*))?", DOTALL)
"""Their options that name the folder: ``-t DIR``, ``-vtDIR``, ``--target=DIR``."""
_RECURSIVE = LazyPattern(r"-[a-zA-Z]*[rRa][a-zA-Z]*|--recursive|--archive")
"""Options of ``cp`` by which folders are copied."""
_AWK = frozenset(["awk", "gawk", "mawk", "nawk"])
_STRING = LazyPattern(r'"(?:\\.|[^"\\])*"')
_PRINTED = LazyPattern(
    r'\bprintf?\b(?P<what>(?:"(?:\\.|[^"\\])*"|\\\n|[^";{}\n>/])*)'
    r'(?:>>?[ \t]*(?:"(?P<file>[^"\\]*)"[ \t]*(?=[;}\n]|$))?|/(?:\\\n|[^\n])*>)'
)
"""Where an awk program prints into a file, and which, if that stands there alone; a slash may begin a pattern."""
_LONGEST_PROGRAM = 2000
_ARCHIVES = frozenset(["tar", "bsdtar", "gtar"])
_CREATES = LazyPattern(r"-?[a-zA-Z]*[cruA][a-zA-Z]*|--create|--append|--update|--(?:con)?catenate")
_CHANGES_IN_PLACE = frozenset(["sed", "perl", "gsed", "yq"])
_IN_PLACE = LazyPattern(r"-[a-zA-Z0-9]*i.*|--in-?place.*")
_WITH_CONTENT = frozenset(["rm", "mv", "shred", "chmod", "chown", "chgrp", "rsync", "ln", "git mv", "git rm"])
"""Programs that may be told of a folder and mean what is in it."""
_READS_ALL = frozenset(
    [
        "cat", "tac", "nl", "head", "tail", "less", "more", "wc", "sort", "uniq", "cut", "paste", "tr", "grep", "egrep",
        "fgrep", "rg", "sed", "awk", "gawk", "mawk", "perl", "diff", "cmp", "comm", "join", "md5sum", "sha1sum",
        "sha256sum", "sha512sum", "cksum", "xxd", "od", "hexdump", "strings", "base64", "base32", "file", "stat", "jq",
        "yq", "column", "fold", "fmt", "rev", "split", "tar", "zip", "gzip", "bat", "source", ".",
        "pr", "expand", "unexpand", "shuf", "tsort", "ul",
        "zcat", "bzcat", "xzcat", "zgrep", "iconv",
    ]
)  # fmt: skip
_DEVICES = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin"])


_MOST_FOLDERS = 32
_SHORT = len("-o")
_OTHER_HOME = LazyPattern(r"(?<!\$)(?<!\$\{)\b(?:HOME|PWD)\b")


class FileUse(Value):
    """One file, or what may be one, that a command reads or writes."""

    writes: bool
    word: Word
    named: Named
    by_shell: bool
    """Whether the shell opens it, for a redirection."""
    with_content: bool = False
    """Whether all that is in it is meant, if it is a folder."""


class Folders:
    """The folders that relative paths of a line may be meant from, while its commands are gone through."""

    def __init__(self, cwd: str, line: str) -> None:
        """Begin in a folder, with a line."""
        self.bases: tuple[str, ...] = (cwd,)
        self.known = "CDPATH" not in line
        """False once a command has gone to a folder that is not known."""
        may_set = ("HOME" in line or "PWD" in line) and _OTHER_HOME.search(line)
        self.home = "" if may_set else os.path.expanduser("~")
        """What ``~`` and ``$HOME`` are; empty if the line may set that variable, or ``PWD``."""

    def follow(self, command: SimpleCommand) -> None:
        """Take a change of folder into account: what comes behind it may be meant from there."""
        if command.name not in ("cd", "pushd", "popd") and command.name != "chdir":
            return
        words = [word for word in command.words[1:] if word.value not in ("-P", "-L", "--", "-e")]
        path = named_by(words[0], self.home).path if len(words) == 1 else self.home if not words else None
        if command.name == "popd" or not path or path == "-":
            self.known = False
            return
        reached = (os.path.normpath(os.path.join(base, path)) for base in self.bases)
        # It may fail, or run in a process of its own, which changes nothing for what comes behind.
        found = [*reached, *self.bases] if command.run_by else [*self.bases, *reached]
        if len(found) > _MOST_FOLDERS:
            self.known = False
            return
        self.bases = tuple(dict.fromkeys(reversed(found)))[::-1]


def named_paths(reading: Reading, folder: str) -> Iterator[str]:
    """Yield the absolute paths that a command line names, to read, to write or to run, some of them twice.

    ``folder`` is the session's, ``context.cwd``. Each word counts as a path, and what stands behind its ``=``; of one
    that is not known before the line runs, what it begins with. Symbolic links are not followed: that does
    ``os.path.realpath``. What a script, or a variable that the line does not set, names is not seen.
    """
    folders = Folders(folder, reading.text)
    for command in reading.commands:
        named = [named_by(word, folders.home) for word in command.words]
        uses = (*used_files(command, folders.home), *redirected(command.redirections, folders.home))
        yield from _absolute([*named, *(use.named for use in uses)], folders)
        folders.follow(command)
    around = redirected(reading.redirections, folders.home)
    yield from _absolute(
        [*(named_by(word, folders.home) for word in reading.words), *(use.named for use in around)], folders
    )


def _absolute(found: Iterable[Named], folders: Folders) -> Iterator[str]:
    for named in found:
        begun = (named.path if named.path is not None else named.prefix) or ""
        for path in dict.fromkeys((begun, begun.rpartition("=")[2])):
            if path.startswith("/"):
                yield os.path.normpath(path)
            elif folders.known:
                yield from (os.path.normpath(os.path.join(base, path)) for base in folders.bases)


def redirected(redirections: Iterable[Redirection], home: str) -> Iterator[FileUse]:
    """Yield the files that redirections open, but for the devices that every process has."""
    for one in redirections:
        if one.target is None or one.direction in ("duplicate", "close", "here-document", "here-string"):
            continue
        named = named_by(one.target, home)
        if _is_device(named):
            continue
        for writes in (False, True) if one.direction == "in and out" else (one.direction != "in",):
            yield FileUse(writes, one.target, named, by_shell=True)


def _is_device(named: Named) -> bool:
    return named.path is not None and (named.path in _DEVICES or named.path.startswith("/dev/fd/"))


def used_files(command: SimpleCommand, home: str) -> Iterator[FileUse]:
    """Yield the files that a known program is told to read or write."""
    logs = [one.values[0] for one in command.assignments if one.name.startswith(_LOGS) and one.values]
    found = [FileUse(True, word, named_by(word, home), by_shell=False) for word in logs]
    for word in command.words[1:]:
        if word.prefix.startswith(_LOGS) and "=" in word.prefix:
            path = None if word.value is None else word.value.partition("=")[2]
            found.append(FileUse(True, word, Named(path), by_shell=False))
    # `GIT_TRACE=1` writes to the terminal.
    yield from (use for use in found if use.named.path is None or os.path.isabs(use.named.path))
    yield from (use for use in _Program(command, home).uses() if not _is_device(use.named))


class _Program:
    """A command, by the name of its program, with its arguments."""

    def __init__(self, command: SimpleCommand, home: str) -> None:
        self._name = os.path.basename(command.name or "")
        self._arguments = command.words[1:]
        if self._name == "git" and [word.value for word in command.bare[1:2]] in (["mv"], ["rm"]):
            self._name, self._arguments = f"git {command.bare[1].value}", command.bare[2:]
        self._home = home
        end = next((at for at, word in enumerate(self._arguments) if word.value == "--"), len(self._arguments))
        self._files = [
            *(word for word in self._arguments[:end] if not word.prefix.startswith("-") and word.value != ""),
            *self._arguments[end + 1 :],
        ]

    def uses(self) -> Iterator[FileUse]:
        if self._name == "dd":
            yield from self._of_dd()
            return
        yield from self._written()
        yield from self._by_options(_OUTPUT, writes=True)
        yield from self._by_options(_INPUT, writes=False)
        if self._name == "find":
            yield from self._found()
        if self._name in _READS_ALL or any(word.value == "--no-index" for word in self._arguments):
            yield from (self._use(word, writes=False) for word in self._files)
        elif self._name in _COPIES:
            targets = [word for word, _ in self._targets()]
            yield from (self._use(word, writes=False) for word in self._files if word not in targets)

    def _of_dd(self) -> Iterator[FileUse]:
        for word in self._arguments:
            key, equals, path = word.prefix.partition("=")
            if equals and key in ("of", "if"):
                yield FileUse(key == "of", word, Named(path if word.value is not None else None), by_shell=False)

    def _written(self) -> Iterator[FileUse]:
        with_content = self._name in _WITH_CONTENT or (self._name == "cp" and self._has(_RECURSIVE))
        if self._name in _CHANGES_ALL or (self._name == "cp" and self._has(_LINKS)):
            yield from (self._use(word, writes=True, with_content=with_content) for word in self._files)
            for word, named in self._targets():
                yield FileUse(True, word, named, by_shell=False, with_content=with_content)
        elif self._name in _PACKS:
            if not self._has(_ONLY_SHOWS):
                yield from (self._use(word, writes=True) for word in self._files)
        elif self._name in _CHANGES_SECOND:
            files = [word for word in self._files if not _NUMBER.fullmatch(word.value or "")]
            yield from (self._use(word, writes=True) for word in files[1:2])
        elif self._name == "zip":
            yield from (self._use(word, writes=True) for word in self._files[:1])
        elif self._name in _AWK:
            yield from self._printed()
        elif self._name in _ARCHIVES:
            yield from self._archived()
        elif self._name == "unzip":
            for use in self._by_options({"unzip": ("-d",)}, writes=True):
                yield from _something_in(use)
        elif self._name in _CHANGES_IN_PLACE:
            if self._has(_IN_PLACE):
                yield from (self._use(word, writes=True) for word in self._files)
        elif self._name in _CHANGES_LAST and self._files:
            for target, named in self._targets():
                yield from self._copied(target, named, with_content)

    def _printed(self) -> Iterator[FileUse]:
        """Yield what an awk program writes; what is printed behind ``(`` may as well be compared."""
        for word in self._arguments:
            text = word.value or ""
            if len(text) > _LONGEST_PROGRAM:
                yield FileUse(True, word, Named(None), by_shell=False)
                continue
            for found in _PRINTED.finditer(text):
                before = _STRING.sub("", found["what"])
                if before.count("(") <= before.count(")"):
                    yield FileUse(True, word, Named(found["file"]), by_shell=False)

    def _archived(self) -> Iterator[FileUse]:
        """Yield the archive that tar makes, and the folder into which it unpacks one."""
        words = [word.prefix for word in self._arguments]
        if any(_CREATES.fullmatch(word) for word in (*words[:1], *(one for one in words if one.startswith("-")))):
            yield from self._by_options({self._name: ("-f", "--file")}, writes=True)
            if "f" in words[0] and not words[0].startswith("-"):
                yield from (self._use(word, writes=True) for word in self._arguments[1:2])
        else:
            for use in self._by_options({self._name: ("-C", "--directory")}, writes=True):
                yield from _something_in(use)

    def _copied(self, target: Word, named: Named, with_content: bool) -> Iterator[FileUse]:
        sources = {word: named_by(word, self._home).path for word in self._files if word != target}
        # Of what is copied into a folder that is there, what is beside it stays.
        is_whole = with_content and (
            self._name != "cp"
            or os.path.normpath(named.path or "") not in (".", "..")
            or any(os.path.basename(path or "") in ("", ".", "..") for path in sources.values())
        )
        yield FileUse(True, target, named, by_shell=False, with_content=is_whole)
        for path in sources.values() if named.path is not None else ():
            # It may be a folder, into which they go.
            inner = f"{named.path}/{os.path.basename(path or '')}"
            into = Named(None, inner, stays=True) if path is None else Named(inner)
            yield FileUse(True, target, into, by_shell=False, with_content=with_content)

    def _by_options(self, options: dict[str, tuple[str, ...]], *, writes: bool) -> Iterator[FileUse]:
        """Yield the files that options name: ``-o FILE``, ``-oFILE``, ``--output=FILE``."""
        for at, word in enumerate(self._arguments):
            for option in options.get(self._name, ()):
                named = _value_of(option, word, is_whole=self._name == "curl")
                if named == "" and word.value is not None:
                    yield from (self._use(one, writes=writes) for one in self._arguments[at + 1 : at + 2])
                elif named is not None:
                    yield FileUse(writes, word, Named(named if word.value is not None else None), by_shell=False)

    def _found(self) -> Iterator[FileUse]:
        """Yield what ``find`` itself deletes and writes."""
        starts = list(takewhile(lambda word: not word.prefix.startswith(("-", "(", "!")), self._arguments))
        for at, word in enumerate(self._arguments):
            if word.value == "-delete":
                # With anything that chooses it is not known what.
                chooses = any(one.value not in ("-delete", "-depth") for one in self._arguments[len(starts) :])
                for path in [named_by(start, self._home).path for start in starts] or ["."]:
                    named = Named(None) if chooses else Named(path)
                    yield FileUse(True, word, named, by_shell=False, with_content=True)
            elif word.value in ("-fprint", "-fprint0", "-fls", "-fprintf") and at + 1 < len(self._arguments):
                yield self._use(self._arguments[at + 1], writes=True)

    def _targets(self) -> list[tuple[Word, Named]]:
        """Return where files are copied to: the folder that ``-t`` names, or the last one.

        The last word may be the value of an option before it.
        """
        for at, word in enumerate(self._arguments if self._name in _TAKES_FOLDER else ()):
            found = _INTO.fullmatch(word.prefix)
            folder = found and (found["short"] or found["long"])
            if folder:
                return [(word, Named(folder if word.value is not None else None))]
            if found and at + 1 < len(self._arguments):
                return [(self._arguments[at + 1], named_by(self._arguments[at + 1], self._home))]
        last = [] if self._name in _CHANGES_ALL else self._files[-1:]
        before = dict(zip(self._arguments[1:], self._arguments, strict=False))
        if last and last[0] in before and before[last[0]].prefix.startswith("-"):
            last = self._files[-2:]
        return [(word, named_by(word, self._home)) for word in last]

    def _has(self, option: re.Pattern[str]) -> bool:
        return any(option.fullmatch(word.prefix) for word in self._arguments)

    def _use(self, word: Word, *, writes: bool, with_content: bool = False) -> FileUse:
        return FileUse(writes, word, named_by(word, self._home), by_shell=False, with_content=with_content)


def _something_in(use: FileUse) -> Iterator[FileUse]:
    """Yield the use of a file in a folder, of which nothing else is known; none for where the command is."""
    path = use.named.path
    if path is None:
        yield use
    elif os.path.normpath(path) != ".":
        folder = f"{path.rstrip('/')}/"
        yield use._with(named=Named(None, folder, stays=True, like=f"{folder}0"))


def _value_of(option: str, word: Word, *, is_whole: bool) -> str | None:
    """Return what a word gives an option, empty if the next word does; None if it is not the option.

    Most programs take the beginning of a long option for it, unless ``is_whole``.
    """
    if word.value == option:
        return ""
    if option.startswith("--") or len(option) > _SHORT:
        name, _, value = word.prefix.partition("=")
        is_short = not is_whole and len(name) > _SHORT and option.startswith(name)
        return value if name == option or is_short else None
    if not word.prefix.startswith("-") or word.prefix.startswith("--"):
        return None
    # -so FILE, -soFILE
    _, found, rest = word.prefix[1:].partition(option[1])
    return rest if found else None
