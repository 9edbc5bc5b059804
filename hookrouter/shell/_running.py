"""What a simple command runs besides itself, by the table of programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter.shell._programs import (
    COMMAND_VARIABLES,
    CONFIG_OF_COMMANDS,
    HARMLESS_CONFIG,
    PROGRAMS,
    SHELLS,
    STATE_PREFIXES,
    STATE_VARIABLES,
)
from hookrouter.shell._tests import bracket_doubts
from hookrouter.shell._words import NAME, RESERVED
from hookrouter.shell.commands import Assignment, Expansion, Literal, RunBy, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from hookrouter.shell._words import Dialect

    class Reader(Protocol):
        """The reader of the text that a command stands in."""

        dialect: Dialect
        commands: list[SimpleCommand]

        def add(self, command: SimpleCommand) -> None:
            """Take a command that another one runs."""

        def doubt_word(self, why: Why, word: Word) -> None:
            """Note why the reading is not certain."""

        def read_text(self, text: str, holder: Word, by: tuple[RunBy, ...], dialect: Dialect) -> None:
            """Read a text that a command runs."""

        def is_number(self, word: Word) -> bool:
            """Whether a word is a number for certain."""

        def assigned(self, name: str, value: str | bool = False) -> None:
            """Note that a variable gets a value."""

        def array(self, name: str) -> None:
            """Note that a variable may be an array."""

        def compound(self, name: str, value: Word) -> None:
            """Note that a variable gets a value that, if it is an array, is read as that of one."""

        def let(self, text: str, word: Word) -> bool:
            """Take a word that is evaluated as arithmetic; return whether it is of a form that is known."""


__all__ = ["run"]

_WRAPPERS = 10
"""How many programs may run each other: ``sudo nice timeout 5 …``."""
_ASSIGNED = LazyPattern(rf"({NAME})=", re.ASCII)
_OF_TEXT = LazyPattern(r"%(?:%|[-+ #0-9.]*[sbq])")
"""What of a format takes no number."""
_LOOKS_ASSIGNED = LazyPattern(r"\w+(?:\[.*\])?\+?=", re.DOTALL)
_ANY_ASSIGNED = LazyPattern(r"([^=]*)=")


def run(reader: Reader, command: SimpleCommand) -> None:
    """Take a command into the reader's list, and what it runs behind it."""
    place = len(reader.commands)
    reader.commands.append(command)
    for assignment in command.assignments:
        _variable(reader, command, assignment)
    if not command.words:
        return
    name = command.name
    if name is None:
        reader.doubt_word(Why.NAME, command.words[0])
        return
    if sum(one.kind == "program" for one in command.run_by) > _WRAPPERS:
        reader.doubt_word(Why.SIZE, command.words[0])
        return
    name = name.rpartition("/")[2]
    special = _SPECIAL.get(name)
    if special is not None:
        special(reader, command)
    elif name in PROGRAMS:
        words = _Words(reader, command, name)
        words.read()
        if words.bare != command.words:
            reader.commands[place] = command._with(bare=words.bare)
            return
    reader.commands[place] = command._with(bare=command.words)


def _variable(reader: Reader, command: SimpleCommand, assignment: Assignment) -> None:
    name = assignment.name
    where = assignment.values[0] if assignment.values else Word(name, (), assignment.start, assignment.end)
    if name == "IFS" and command.name == "read":
        # It holds for this one command, which only splits what it reads.
        return
    if name in STATE_VARIABLES or name.startswith(STATE_PREFIXES):
        reader.doubt_word(Why.VARIABLE, where)
    elif name in COMMAND_VARIABLES and assignment.values:
        _text(reader, where, (*command.run_by, RunBy("program", name)), "sh")


def _text(reader: Reader, word: Word, by: tuple[RunBy, ...], dialect: Dialect) -> None:
    """Read a word that is a command line."""
    value = word.value
    if value is None:
        reader.doubt_word(Why.TEXT, word)
    else:
        reader.read_text(value, word, by, dialect)


def may_be_option(word: Word) -> bool:
    """Whether a word, or one that it becomes, may begin with ``-``."""
    if not word.parts:
        return False
    first, prefix = word.parts[0], word.prefix
    if prefix.startswith("-"):
        return True
    known = bool(prefix) or (isinstance(first, Expansion) and first.kind in ("tilde", "number", "arithmetic"))
    if not known:
        return word.value is None
    # `src/*.py` becomes words that begin alike; `a$x` may not.
    return any(
        isinstance(part, Expansion) and part.splits and (part.kind != "filename" and not _is_plain_brace(part))
        for part in word.parts
    )


def _is_plain_brace(part: Expansion) -> bool:
    return part.kind == "brace" and not set("$`") & set(part.text)


class _Options:
    """The options of a row of the table."""

    def __init__(self, row: str) -> None:
        self.kinds: dict[str, str] = {}
        self.others = False
        self.digits = False
        self.bundled = False
        for one in row.split():
            if one == "*":
                self.others = True
            elif one == "-N":
                self.digits = True
            elif one == "+":
                self.bundled = True
            else:
                name, _, kind = one.partition("=")
                mark = "" if kind else name[-1:] if name[-1:] in ":?!" else ""
                self.kinds[name.rstrip(":?!")] = kind or mark
        self.runs = any(kind in ("text", "doubt", "config", "name", "number") for kind in self.kinds.values())

    @classmethod
    def of(cls, row: str) -> _Options:
        if row not in _OPTIONS:
            _OPTIONS[row] = cls(row)
        return _OPTIONS[row]

    def match(self, word: str) -> tuple[str, str | None] | None:
        """Return the kind of an option and the value in its word, if any; None for one that is not known.

        The kind of several letters in one word is that of the last, or of the first that is more than a flag.
        """
        if self.digits and word[1:].isdigit():
            return "", None
        if word.startswith("--") and word != "--":
            name, sign, value = word.partition("=")
            kind = self.kinds.get(name)
            if kind is None:
                # GNU programs take the beginning of a long option for the whole.
                meant = {self.kinds[one] for one in self.kinds if one.startswith(name)}
                if meant & {"text", "doubt", "config", "name"}:
                    return "doubt", None
                return ("", None) if self.others else None
            return kind, value if sign else None
        if word in self.kinds:
            return self.kinds[word], None
        single, sign, value = word.partition("=")
        if sign and len(single) > 2 and single in self.kinds:
            return self.kinds[single], value
        for place, letter in enumerate(word[1:], 1):
            kind = self.kinds.get("-" + letter)
            if kind is None:
                if not self.others:
                    return None
                continue
            if kind == "?":
                return "", None
            if kind:
                rest = word[place + 1 :]
                return kind, rest.removeprefix("=") if rest else None
        return "", None


_OPTIONS: dict[str, _Options] = {}
"""The rows that were needed."""


class _Words:
    """Goes through the words of a command of the table."""

    def __init__(self, reader: Reader, command: SimpleCommand, name: str) -> None:
        self._reader = reader
        self._command = command
        self._name = name
        self._at = 1
        self._replaced: str | None = None
        """What xargs replaces by its input."""
        self.bare = command.words

    @property
    def _rest(self) -> tuple[Word, ...]:
        return self._command.words[self._at :]

    def read(self) -> None:
        """Read the options, then what stands behind them."""
        name = self._name
        while True:
            row, operands = PROGRAMS[name]
            kinds = operands.split()
            permuted = kinds[-1] in ("WORDS", "CONFIG", "MAKE")
            if self._options(_Options.of(row), permuted=permuted, declares=kinds == ["DECLARE"]):
                return
            if kinds != ["SUBCOMMAND"]:
                break
            if not self._rest:
                return
            subcommand = self._rest[0].value
            if subcommand is None:
                self._doubt(Why.OPTION, self._rest[0])
                return
            self.bare = (*self.bare[: name.count(" ") + 1], *self._rest)
            self._at += 1
            name = f"{name} {subcommand}"
            if name not in PROGRAMS:
                if name.startswith("tmux "):
                    self._doubt(Why.TEXT, self._command.words[self._at - 1])
                return
        for kind in kinds:
            if _OPERANDS[kind](self):
                return

    def _doubt(self, why: Why, word: Word) -> None:
        self._reader.doubt_word(why, word)

    def _options(self, options: _Options, *, permuted: bool, declares: bool) -> bool:
        """Go behind the options; return whether nothing, or nothing that is known, is run.

        ``permuted``: options may stand between other words. ``declares``: ``NAME=VALUE`` is one word for certain.
        """
        words = self._command.words
        operands: list[Word] = []
        if options.bundled and self._rest and not may_be_option(words[self._at]):
            letters = words[self._at].value or ""
            if any(options.kinds.get("-" + letter) in ("text", "doubt") for letter in letters):
                self._doubt(Why.OPTION, words[self._at])
                return True
            self._at += 1
        while self._at < len(words):
            word = words[self._at]
            value = word.value
            if value == "--":
                self._at += 1
                break
            if value is None and may_be_option(word) and not (declares and _ASSIGNED.match(word.prefix)):
                if not self._is_attached(options, word):
                    if not permuted or options.runs:
                        self._doubt(Why.OPTION, word)
                        if not permuted:
                            return True
                    operands.append(word)
                self._at += 1
                continue
            if value is None or not value.startswith("-") or (value == "-" and "-" not in options.kinds):
                if not permuted:
                    break
                operands.append(word)
                self._at += 1
                continue
            found = options.match(value)
            if found is None:
                self._doubt(Why.OPTION, word)
                return True
            self._at += 1
            if self._option(found[0], found[1], word):
                return True
        if permuted:
            self._operands = [*operands, *self._rest]
        return False

    _operands: Sequence[Word] = ()

    def _is_attached(self, options: _Options, word: Word) -> bool:
        """Whether a word is an option with a value of its own that is not known, and runs nothing: ``--depth=$n``."""
        name, sign, _ = word.prefix.partition("=")
        if word.splits or not sign or not name.startswith("--"):
            return False
        return options.kinds.get(name) in (":", "?") or (options.others and options.match(name) == ("", None))

    def _option(self, kind: str, value: str | None, word: Word) -> bool:
        """Do what an option says; return whether nothing more is known, or run."""
        if kind == "!":
            return True
        if kind == "doubt":
            self._doubt(Why.OPTION, word)
            return True
        if kind in ("", "?"):
            return False
        holder = word
        if value is None:
            if not self._rest:
                return True
            holder = self._rest[0]
            self._at += 1
            if holder.splits:
                self._doubt(Why.OPTION, holder)
                return True
            value = holder.value
        if kind == ":":
            if word.value == "-I" or (word.value or "").startswith("-I"):
                self._replaced = value
            return False
        if kind == "number":
            if not re.fullmatch(r"[0-9.]+", value or "") and not self._reader.is_number(holder):
                self._doubt(Why.ARITHMETIC, holder)
        elif value is None:
            self._doubt(Why.TEXT, holder)
        elif kind == "text":
            self._reader.read_text(value, holder, self._by, "sh")
        elif kind == "config":
            self._config(value, holder)
        elif kind == "name":
            self._one_name(value, holder)
        return False

    @property
    def _by(self) -> tuple[RunBy, ...]:
        return (*self._command.run_by, RunBy("program", self._name))

    def _run(self, words: Sequence[Word], assignments: Sequence[Assignment] = ()) -> None:
        """Take the command that these words are."""
        start, end = words[0].start, words[-1].end
        self._reader.add(SimpleCommand(tuple(words), tuple(assignments), (), self._by, start, end))

    # What stands behind the options: each returns whether nothing is left to look at

    def _word(self) -> bool:
        if not self._rest:
            return True
        if self._rest[0].splits:
            self._doubt(Why.OPTION, self._rest[0])
            return True
        self._at += 1
        return False

    def _words(self) -> bool:
        return True

    def _assignments(self) -> bool:
        # To `env` any word with a `=` is one; `time` is followed by a command of the shell.
        form = _ASSIGNED if self._name == "time" else _ANY_ASSIGNED
        assignments = []
        while self._rest:
            word = self._rest[0]
            found = form.match(word.prefix)
            if found is None:
                break
            assignments.append(Assignment(found[1], (_behind(word, found.end()),), word.start, word.end))
            self._at += 1
        if not self._rest:
            for one in assignments:
                _variable(self._reader, self._command, one)
            if self._name == "time" and self._reader.dialect == "zsh" and self._command.redirections:
                # zsh runs $NULLCMD, or $READNULLCMD.
                self._doubt(Why.NAME, self._command.words[0])
        elif self._rest[0].value is None:
            # It may become one.
            self._doubt(Why.NAME, self._rest[0])
        else:
            first = self._rest[0]
            if self._name == "time" and (first.text == first.value in RESERVED or _LOOKS_ASSIGNED.match(first.text)):
                self._doubt(Why.SYNTAX, first)
            self._run(self._rest, assignments)
        return True

    def _inner_command(self) -> bool:
        if self._rest:
            self._run(self._rest)
        return True

    def _dashes(self) -> bool:
        for word in self._rest:
            self._at += 1
            if word.value == "--":
                return self._inner_command()
            if word.splits:
                self._doubt(Why.OPTION, word)
        # _options may have gone behind the dashes already.
        words = self._command.words
        values = [word.value for word in words]
        if "--" in values[: self._at]:
            self._at = values.index("--") + 1
            return self._inner_command()
        if self._name == "kubectl":
            # Older ones take a command without the dashes.
            self._doubt(Why.OPTION, words[0])
        return True

    def _more_options(self) -> bool:
        return self._options(_Options.of(PROGRAMS[self._name][0]), permuted=False, declares=False)

    def _line(self) -> bool:
        rest = self._rest
        if not rest:
            return self._name == "ssh" and self._input()
        values = [word.value for word in rest]
        if any(value is None for value in values):
            self._doubt(Why.TEXT, next(word for word in rest if word.value is None))
            self._run(rest)
            return True
        text = " ".join(value for value in values if value is not None)
        dialect = self._reader.dialect if self._name == "eval" else "sh"
        holder = Word(text, (Literal(text),), rest[0].start, rest[-1].end)
        self._reader.read_text(text, holder, self._by, dialect)
        return True

    def _input_of_shell(self) -> bool:
        return self._input()

    def _input(self) -> bool:
        """Read what is given to a shell as its input."""
        _read_input(self._reader, self._command, self._by, "sh")
        return True

    def _one_text(self) -> bool:
        if self._rest and self._rest[0].value != "-":
            if len(self._rest) > 1:
                _text(self._reader, self._rest[0], self._by, self._reader.dialect)
            elif self._rest[0].value is None:
                self._doubt(Why.TEXT, self._rest[0])
        return True

    def _with_input(self) -> bool:
        """The command of ``xargs``, with words that it reads."""
        rest = list(self._rest)
        replaced = self._replaced
        if not rest:
            rest = [Word("echo", (Literal("echo"),), self._command.start, self._command.end)]
        end = rest[-1].end
        if replaced:
            rest = [_replace(word, replaced) for word in rest]
        else:
            rest.append(Word("", (Expansion("input", "", splits=True),), end, end))
        self._run(rest)
        return True

    def _one_name(self, value: str | None, word: Word) -> None:
        if value is None or not re.fullmatch(NAME, value, re.ASCII):
            self._doubt(Why.ARITHMETIC, word)
        else:
            self._reader.assigned(value)
            if self._name in ("read", "mapfile", "readarray"):
                self._reader.array(value)
            if value in STATE_VARIABLES or value.startswith(STATE_PREFIXES):
                self._doubt(Why.VARIABLE, word)

    def _names(self) -> bool:
        for word in self._rest:
            self._one_name(word.value, word)
            if self._name == "getopts":
                break
        for name in () if self._name in ("unset", "getopts") or self._rest else ("REPLY", "MAPFILE"):
            self._reader.assigned(name)
        return True

    def _declare(self) -> bool:
        for word in self._rest:
            found = _ASSIGNED.match(word.prefix)
            if found is None:
                self._one_name(word.value, word)
                continue
            value = _behind(word, found.end())
            self._reader.assigned(found[1], self._reader.is_number(value) if value.value is not None else False)
            if not value.prefix or value.prefix.startswith("("):
                # bash reads `declare x='($(command))'` again if x is an array.
                self._reader.compound(found[1], value)
            assignment = Assignment(found[1], (value,), word.start, word.end)
            _variable(self._reader, self._command, assignment)
        return True

    def _numbers(self) -> bool:
        for word in self._rest:
            if not self._reader.is_number(word):
                self._doubt(Why.ARITHMETIC, word)
        return True

    def _let(self) -> bool:
        for word in self._rest:
            if word.value is None or not self._reader.let(word.value, word):
                self._doubt(Why.ARITHMETIC, word)
        return True

    def _format(self) -> bool:
        """The words of ``printf``: zsh evaluates what a format takes as a number."""
        rest = self._rest
        if not rest:
            return True
        text = rest[0].value
        if text is None and may_be_option(rest[0]):
            self._doubt(Why.OPTION, rest[0])
        if self._reader.dialect == "zsh" and (text is None or "%" in _OF_TEXT.sub("", text)):
            for word in rest[1:]:
                if not self._reader.is_number(word):
                    self._doubt(Why.ARITHMETIC, word)
        return True

    def _locked(self) -> bool:
        """What stands behind the file of ``flock``: a command, or ``-c`` and a command line."""
        if self._rest and self._rest[0].value in ("-c", "--command"):
            self._at += 1
            if self._rest:
                _text(self._reader, self._rest[0], self._by, "sh")
            return True
        return self._inner_command()

    def _make(self) -> bool:
        for word in self._operands:
            name, sign, _ = word.prefix.partition("=")
            if word.value is None and (sign or not word.splits):
                # It is, or may be, a variable whose value make expands.
                self._doubt(Why.VARIABLE, word)
            elif sign and (name.startswith(("SHELL", "MAKE", ".SHELL")) or re.search(r"[$`|;&<>]|!=", word.prefix)):
                self._doubt(Why.VARIABLE, word)
        return True

    def _config(self, value: str, word: Word) -> None:
        """Read a setting of git."""
        key, _, meant = value.partition("=")
        lowered = key.lower()
        if lowered.startswith("alias.") and meant.startswith("!"):
            self._reader.read_text(meant[1:], word, self._by, "sh")
        elif lowered.startswith(CONFIG_OF_COMMANDS) and not lowered.endswith(".pager."):
            self._reader.read_text(meant, word, self._by, "sh")
        elif not lowered.startswith(HARMLESS_CONFIG):
            self._doubt(Why.OPTION, word)

    def _set_config(self) -> bool:
        operands = list(self._operands)
        if len(operands) >= 2 or any(word.splits for word in operands):
            key = operands[0].value
            if key is None or not key.lower().startswith(HARMLESS_CONFIG):
                self._doubt(Why.STATE, operands[0])
        return True

    def _any(self, why: Why) -> bool:
        words = self._rest
        if words:
            self._doubt(why, words[0])
        return True

    def _state(self) -> bool:
        return self._any(Why.STATE)

    def _file(self) -> bool:
        return self._any(Why.FILE)

    def _arithmetic(self) -> bool:
        return self._any(Why.ARITHMETIC)

    def _doubtful(self) -> bool:
        self._doubt(Why.TEXT, self._command.words[0])
        return True


_OPERANDS: dict[str, Callable[[_Words], bool]] = {
    "WORD": _Words._word,
    "WORDS": _Words._words,
    "ASSIGNMENTS": _Words._assignments,
    "COMMAND": _Words._inner_command,
    "OPTIONS": _Words._more_options,
    "DASHES": _Words._dashes,
    "LINE": _Words._line,
    "TEXT": _Words._one_text,
    "INPUT": _Words._with_input,
    "STDIN": _Words._input_of_shell,
    "NAMES": _Words._names,
    "DECLARE": _Words._declare,
    "NUMBERS": _Words._numbers,
    "LET": _Words._let,
    "FORMAT": _Words._format,
    "LOCKED": _Words._locked,
    "MAKE": _Words._make,
    "CONFIG": _Words._set_config,
    "STATE": _Words._state,
    "FILE": _Words._file,
    "ARITHMETIC": _Words._arithmetic,
    "DOUBT": _Words._doubtful,
}


def _behind(word: Word, count: int) -> Word:
    """Return a word without its first characters, which are known."""
    parts = list(word.parts)
    first = parts[0]
    assert isinstance(first, Literal)  # noqa: S101 - it holds the characters
    parts[0] = Literal(first.text[count:])
    return word._with(parts=tuple(parts if parts[0].text or len(parts) == 1 else parts[1:]))


def _replace(word: Word, replaced: str) -> Word:
    """Return a word that is not known if it holds what is replaced."""
    if replaced and (word.value is None or replaced not in word.value):
        return word
    return word._with(parts=(Expansion("input", word.text),))


def _read_input(reader: Reader, command: SimpleCommand, by: tuple[RunBy, ...], dialect: Dialect) -> None:
    inputs = [one for one in command.redirections if one.descriptor in (None, 0)]
    inputs = [one for one in inputs if one.direction in ("in", "here-document", "here-string", "duplicate")]
    # zsh gives a command all of its inputs, one behind the other.
    is_one = len(inputs) == 1 or (bool(inputs) and reader.dialect != "zsh")
    last = inputs[-1] if is_one else None
    if last is not None and last.target is not None and last.direction.startswith("here-"):
        _text(reader, last.target, (*by, RunBy("here-document")), dialect)
    else:
        reader.doubt_word(Why.INPUT, command.words[0])


def _shell(reader: Reader, command: SimpleCommand) -> None:
    """A shell: with ``-c`` it runs a text, with a file the commands in it, with neither what it reads."""
    words = command.words
    name = (command.name or "").rpartition("/")[2]
    dialect = SHELLS[name]
    by = (*command.run_by, RunBy("program", name))
    at, is_text, is_input = 1, False, False
    while at < len(words):
        value = words[at].value
        if value is None and may_be_option(words[at]):
            reader.doubt_word(Why.TEXT if is_text else Why.OPTION, words[at])
            return
        if value is None or value[:1] not in ("-", "+"):
            break
        at += 1
        if value in ("-", "--"):
            break
        if value in ("--version", "--help"):
            return
        if value in ("--norc", "--noprofile", "--login", "--posix"):
            continue
        letters = value[1:]
        if not letters or not set(letters) <= set("cleuxsvnfo"):
            reader.doubt_word(Why.OPTION, words[at - 1])
            return
        is_text = is_text or ("c" in letters and value[0] == "-")
        is_input = is_input or "s" in letters
        if "o" in letters:
            if at >= len(words) or words[at].value not in _SET_OPTIONS:
                reader.doubt_word(Why.OPTION, words[at - 1])
                return
            at += 1
    rest = words[at:]
    if is_text:
        if rest:
            if rest[0].splits:
                reader.doubt_word(Why.TEXT, rest[0])
            _text(reader, rest[0], by, dialect)
    elif is_input or not rest or rest[0].value in ("/dev/stdin", "/dev/fd/0"):
        _read_input(reader, command, by, dialect)
    elif rest[0].value is None:
        reader.doubt_word(Why.FILE, rest[0])
    elif any(isinstance(one, Expansion) and one.kind == "process substitution" for one in rest[0].parts):
        reader.doubt_word(Why.INPUT, rest[0])


_SET_OPTIONS = frozenset(["pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber", "verbose"])


def _set(reader: Reader, command: SimpleCommand) -> None:
    """``set``: options that change how commands are read, or no more than whether the shell stops."""
    words = list(command.words[1:])
    while words:
        word = words.pop(0)
        value = word.value
        if value in ("--", "-") or (value is not None and value[:1] not in ("-", "+")):
            return
        if value is None:
            if may_be_option(word):
                reader.doubt_word(Why.STATE, word)
            return
        if not set(value[1:]) <= set("euxfCvo"):
            reader.doubt_word(Why.STATE, word)
            return
        if "o" in value[1:] and words:
            option = words.pop(0)
            if option.value not in _SET_OPTIONS:
                reader.doubt_word(Why.STATE, option)
                return


def _find(reader: Reader, command: SimpleCommand) -> None:
    """``find``: its actions run commands."""
    words = command.words
    by = (*command.run_by, RunBy("program", "find"))
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word.value is None and may_be_option(word):
            following = words[at].value if at < len(words) else "-"
            if word.splits or following is None or not following.startswith(("-", "(", "!", ")", ",")):
                reader.doubt_word(Why.OPTION, word)
        if word.value not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        end = at
        while end < len(words) and not (
            words[end].value == ";" or (words[end].value == "+" and words[end - 1].value == "{}")
        ):
            end += 1
        inner = [_replace(one, "{}") for one in words[at:end]]
        if any(one.splits for one in inner) and any(one.value is None and one.splits for one in inner):
            reader.doubt_word(Why.OPTION, word)
        if end < len(words) and words[end].value == "+" and inner:
            inner[-1] = inner[-1]._with(parts=(Expansion("input", "{}", splits=True),))
        if inner:
            reader.add(SimpleCommand(tuple(inner), (), (), by, inner[0].start, inner[-1].end))
        at = end + 1


def _bracket(reader: Reader, command: SimpleCommand) -> None:
    """``[`` and ``test``."""
    words = command.words[1:]
    if command.name == "[" and words and words[-1].value == "]":
        words = words[:-1]
    for why, word in bracket_doubts(reader, words):
        reader.doubt_word(why, word)


_SED_PLAIN = LazyPattern(
    r"(?:\s*(?:\d+|\$|/[^/\\\n]*/)?(?:,(?:\d+|\$|/[^/\\\n]*/|\+\d+))?!?\s*"
    r"(?:[pdqDPnNgGhHx=]|s(?P<d>[/|#,@!:])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)[gpIi0-9]*)"
    r"\s*(?:;|$))+",
    re.ASCII,
)


def _sed(reader: Reader, command: SimpleCommand) -> None:
    """``sed``: GNU's runs commands by ``e``, also as a flag of ``s``."""
    words = list(command.words[1:])
    scripts: list[Word] = []
    operands: list[Word] = []
    while words:
        word = words.pop(0)
        value = word.value
        if value == "--":
            operands += words
            break
        if value is None and may_be_option(word):
            reader.doubt_word(Why.OPTION, word)
            return
        if value is None or not value.startswith("-") or value == "-":
            operands.append(word)
        elif value in ("-e", "--expression") and words:
            scripts.append(words.pop(0))
        elif not re.fullmatch(
            r"-[nErsuz]+|-[nErsz]*i[^e]*|--in-place(?:=[\w.]*)?|--quiet|--silent|--regexp-extended|--sandbox", value
        ):
            reader.doubt_word(Why.OPTION, word)
            return
    # macOS has a word for the ending of `-i`.
    if not scripts and operands and operands[0].value == "" and len(operands) > 1:
        operands.pop(0)
    for word in scripts or operands[:1]:
        text = word.value
        if text is None or not all(_SED_PLAIN.fullmatch(line) for line in text.split("\n") if line.strip()):
            reader.doubt_word(Why.CODE, word)


def _awk(reader: Reader, command: SimpleCommand) -> None:
    """``awk``: its programs run commands by ``system``, by ``|``, and by files that they write or load."""
    words = list(command.words[1:])
    while words:
        word = words.pop(0)
        value = word.value
        if value is None and may_be_option(word):
            reader.doubt_word(Why.OPTION, word)
            return
        if value in ("-F", "-v") and words:
            words.pop(0)
        elif (value is not None and re.match(r"-[Fv].", value)) or value == "--":
            continue
        elif value is not None and value.startswith("-") and value != "-":
            reader.doubt_word(Why.OPTION, word)
            return
        else:
            if value is None or re.search(r"system|\||getline|@|\bload\b", value.replace("||", "")):
                reader.doubt_word(Why.CODE, word)
            return


def _other_shell(reader: Reader, command: SimpleCommand) -> None:
    reader.doubt_word(Why.TEXT, command.words[0])


_SPECIAL: dict[str, Callable[[Reader, SimpleCommand], None]] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(
        ("fish", "csh", "tcsh", "ksh", "mksh", "ksh93", "oksh", "pwsh", "nu", "elvish", "xonsh"), _other_shell
    ),
    "set": _set,
    "find": _find,
    "gfind": _find,
    "[": _bracket,
    "test": _bracket,
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
}
"""Programs whose words need more than a row."""
