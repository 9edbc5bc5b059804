"""What a simple command runs besides itself, by the table of programs."""

from __future__ import annotations

from hookrouter.shell._lists import (
    COMMAND_VARIABLES,
    CONFIG_OF_COMMANDS,
    HARMLESS_CONFIG,
    NAME,
    RESERVED,
    STATE_PREFIXES,
    STATE_VARIABLES,
)
from hookrouter.shell._options import Options
from hookrouter.shell._programs import PROGRAMS, known_name
from hookrouter.shell._special import (
    SPECIAL,
    inputs_of,
    may_be_option,
    read_input,
    read_word,
    replaced_in,
)
from hookrouter.shell.commands import Assignment, Expansion, Literal, RunBy, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import ASCII, DOTALL, IGNORECASE, MULTILINE, LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.shell._special import Reader


__all__ = ["is_state", "run"]

_WRAPPERS = 10
"""How many programs may run each other: ``sudo nice timeout 5 …``."""
_ASSIGNED = LazyPattern(rf"({NAME})=", ASCII)
_OF_TEXT = LazyPattern(r"%(?:%|[-+ #0-9.]*[sbq])")
"""What of a format takes no number."""
_LOOKS_ASSIGNED = LazyPattern(r"\w+(?:\[.*\])?\+?=", DOTALL)
_MODULES_OF_CODE = frozenset(["pdb", "timeit", "code", "asyncio", "IPython", "bpython", "ptpython", "idlelib"])
"""Modules of Python that are given texts in Python; others are programs like scripts."""
_COMMANDS_IN_SQL = LazyPattern(
    r"\\|\b(?:program|system|source)\b|^[ \t]*\.(?!(?:tables|schema|headers?|mode|dump|indexes|databases)\b)",
    IGNORECASE | MULTILINE,
)
"""What of a text has a database's client, or server, run a command: ``\\!``, ``system``, ``.shell``."""
_NUMBER = LazyPattern(r"[0-9.]+")
_VARIABLE = LazyPattern(NAME, ASCII)
_IN_RECIPES = LazyPattern(r"[$`|;&<>]|!=")
_OF_TMUX = LazyPattern(r"[\w:.%@=,/+-]+")
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
    name = known_name(name.rpartition("/")[2])
    special = SPECIAL.get(name)
    if special is not None:
        special(reader, command)
    elif name in PROGRAMS:
        words = _Words(reader, command, name)
        words.read()
        if words.bare != command.words:
            reader.commands[place] = command._with(bare=words.bare)
            return
    reader.commands[place] = command._with(bare=command.words)


def is_state(name: str) -> bool:
    """Whether a variable changes what shells or programs run."""
    return name in STATE_VARIABLES or name.startswith(STATE_PREFIXES)


def _variable(reader: Reader, command: SimpleCommand, assignment: Assignment) -> None:
    name = assignment.name
    where = assignment.values[0] if assignment.values else Word(name, (), assignment.start, assignment.end)
    if name == "IFS" and command.name == "read":
        # It holds for this one command, which only splits what it reads.
        return
    if is_state(name):
        reader.doubt_word(Why.VARIABLE, where)
    elif name in COMMAND_VARIABLES and assignment.values:
        read_word(reader, where, (*command.run_by, RunBy("program", name)), "sh")


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
            permuted = kinds[-1] in ("WORDS", "CONFIG", "MAKE", "SQL", "PLUS")
            if self._options(Options.of(row), permuted=permuted, declares=kinds == ["DECLARE"]):
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
                name = f"{name.rpartition(' ')[0]} *"
            if name not in PROGRAMS:
                if name.startswith("tmux "):
                    self._doubt(Why.TEXT, self._command.words[self._at - 1])
                return
        for kind in kinds:
            if _OPERANDS[kind](self):
                return

    def _doubt(self, why: str, word: Word) -> None:
        self._reader.doubt_word(why, word)

    def _options(self, options: Options, *, permuted: bool, declares: bool) -> bool:
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

    def _is_attached(self, options: Options, word: Word) -> bool:
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
            if not _NUMBER.fullmatch(value or "") and not self._reader.is_number(holder):
                self._doubt(Why.ARITHMETIC, holder)
        elif kind == "code" or (kind == "module" and (value is None or value in _MODULES_OF_CODE)):
            self._doubt(Why.CODE, holder)
        elif value is None:
            self._doubt(Why.TEXT, holder)
        elif kind == "sql":
            self._sql(value, holder)
        elif kind == "module":
            return True
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
            if word.splits and self._name != "time":
                # To a program it is a word like others: what it becomes may end in the name of a command.
                self._doubt(Why.NAME, word)
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
        return self._options(Options.of(PROGRAMS[self._name][0]), permuted=False, declares=False)

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
        read_input(self._reader, self._command, self._by, "sh")
        return True

    def _one_text(self) -> bool:
        if self._rest and self._rest[0].value != "-":
            if len(self._rest) > 1:
                read_word(self._reader, self._rest[0], self._by, self._reader.dialect)
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
            rest = [replaced_in(word, replaced) for word in rest]
        else:
            rest.append(Word("", (Expansion("input", "", splits=True),), end, end))
        self._run(rest)
        return True

    def _one_name(self, value: str | None, word: Word) -> None:
        if value is None or not _VARIABLE.fullmatch(value):
            self._doubt(Why.ARITHMETIC, word)
        else:
            self._reader.assigned(value)
            if self._name in ("read", "mapfile", "readarray"):
                self._reader.array(value)

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
                read_word(self._reader, self._rest[0], self._by, "sh")
            return True
        return self._inner_command()

    def _make(self) -> bool:
        if any(one.direction.startswith("here-") for one in inputs_of(self._command)):
            self._doubt(Why.CODE, self._command.words[0])
        for word in self._operands:
            name, sign, _ = word.prefix.partition("=")
            if name in COMMAND_VARIABLES and word.value is not None and sign:
                self._reader.read_text(word.value.partition("=")[2], word, self._by, "sh")
            if word.value is None and (sign or not word.splits):
                # It is, or may be, a variable whose value make expands.
                self._doubt(Why.VARIABLE, word)
            elif sign and (name.startswith(("SHELL", "MAKE", ".SHELL")) or _IN_RECIPES.search(word.prefix)):
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

    def _script(self) -> bool:
        """A file in the program's own language, or what it reads."""
        if not self._rest or self._rest[0].value == "-":
            inputs = inputs_of(self._command)
            if not inputs or inputs[-1].direction != "in":
                self._doubt(Why.CODE, self._command.words[0])
        return True

    def _sql(self, text: str, word: Word) -> None:
        if _COMMANDS_IN_SQL.search(text):
            self._doubt(Why.CODE, word)

    def _sql_words(self) -> bool:
        texts = [*self._operands, *(one.target for one in inputs_of(self._command) if one.direction != "in")]
        for word in texts:
            if word is None or (word.value is None and (word.splits or not word.prefix)):
                self._doubt(Why.CODE, word or self._command.words[0])
            else:
                self._sql(word.value or word.text, word)
        return True

    def _plus(self) -> bool:
        for word in self._operands:
            if word.prefix.startswith("+") or (word.value is None and not word.prefix):
                self._doubt(Why.OPTION, word)
        return True

    def _plain(self) -> bool:
        for word in self._command.words[2:]:
            if not _OF_TMUX.fullmatch(word.value or "") or (word.value or "").startswith("-F"):
                self._doubt(Why.TEXT, word)
        return True

    def _any(self, why: str) -> bool:
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

    def _code(self) -> bool:
        self._doubt(Why.CODE, self._command.words[0])
        return True

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
    "SCRIPT": _Words._script,
    "SQL": _Words._sql_words,
    "PLUS": _Words._plus,
    "PLAIN": _Words._plain,
    "CODE": _Words._code,
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
