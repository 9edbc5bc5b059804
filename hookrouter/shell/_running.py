"""What a simple command runs besides itself, by the table of programs."""

from __future__ import annotations

from hookrouter.shell._lists import (
    COMMAND_VARIABLES,
    CONFIG_OF_COMMANDS,
    HARMLESS_CONFIG,
    INTEGER_VARIABLES,
    MODULES_OF_CODE,
    NAME,
    RESERVED,
)
from hookrouter.shell._options import COMMANDS_IN_SQL, NAME_OF_FILE, VERSION, Options
from hookrouter.shell._programs import PROGRAMS, known_name
from hookrouter.shell._settings import check_variable
from hookrouter.shell._special import (
    SPECIAL,
    gives_text,
    inputs_of,
    is_piped,
    may_be_option,
    names_input,
    read_input,
    read_word,
    replaced_in,
    word_behind,
)
from hookrouter.shell.commands import Assignment, Expansion, Literal, RunBy, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import ASCII, DOTALL, LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.shell._special import Reader


__all__ = ["run"]

_WRAPPERS = 10
"""How many programs may run each other: ``sudo nice timeout 5 …``."""
_ASSIGNED = LazyPattern(rf"({NAME})=", ASCII)
_OF_TEXT = LazyPattern(r"%(?:%|[-+ #0-9.]*[sbq])")
"""What of a format takes no number."""
_LOOKS_ASSIGNED = LazyPattern(r"\w+(?:\[.*\])?\+?=", DOTALL)
_NUMBER = LazyPattern(r"[0-9.]+")
_VARIABLE = LazyPattern(NAME, ASCII)
_IN_RECIPES = LazyPattern(r"[$`|;&<>\n]|!=")
_OF_TMUX = LazyPattern(r"[\w:.%@=,/+-]+")
_GIVING_NOTHING = frozenset(["declare", "typeset", "export", "readonly", "local", "unset"])
"""Builtins that give no value to a name alone."""
_ANY_ASSIGNED = LazyPattern(r"([^=]*)=")


def run(reader: Reader, command: SimpleCommand) -> None:
    """Take a command into the reader's list, and what it runs behind it."""
    place = len(reader.commands)
    reader.commands.append(command)
    for assignment in command.assignments:
        check_variable(reader, command, assignment)
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


class _Words:
    """Goes through the words of a command of the table."""

    def __init__(self, reader: Reader, command: SimpleCommand, name: str) -> None:
        self.reader = reader
        self.command = command
        self.name = name
        self.at = 1
        self.replaced: str | None = None
        """What xargs replaces by its input."""
        self.bare = command.words

    @property
    def rest(self) -> tuple[Word, ...]:
        return self.command.words[self.at :]

    def read(self) -> None:
        """Read the options, then what stands behind them."""
        name = self.name
        while True:
            row, operands = PROGRAMS[name]
            kinds = operands.split()
            permuted = kinds[-1] in ("WORDS", "CALLS", "CONFIG", "MAKE", "SQL", "PLUS")
            if self.options(Options.of(row), permuted=permuted, declares=kinds == ["DECLARE"]):
                return
            if kinds != ["SUBCOMMAND"]:
                break
            if not self.rest:
                return
            subcommand = self.rest[0].value
            if subcommand is None:
                self.doubt(Why.OPTION, self.rest[0])
                return
            self.bare = (*self.bare[: name.count(" ") + 1], *self.rest)
            self.at += 1
            name = f"{name} {subcommand}"
            if name not in PROGRAMS:
                name = f"{name.rpartition(' ')[0]} *"
            if name not in PROGRAMS:
                if name.startswith("tmux "):
                    self.doubt(Why.TEXT, self.command.words[self.at - 1])
                return
        for kind in kinds:
            # Of words that are only given to the program nothing is run.
            if kind == "WORDS" or _OPERANDS[kind](self):
                return

    def doubt(self, why: str, word: Word) -> None:
        self.reader.doubt_word(why, word)

    def options(self, options: Options, *, permuted: bool, declares: bool) -> bool:
        """Go behind the options; return whether nothing, or nothing that is known, is run.

        ``permuted``: options may stand between other words. ``declares``: ``NAME=VALUE`` is one word for certain.
        """
        words = self.command.words
        operands: list[Word] = []
        if options.bundled and self.rest and not may_be_option(words[self.at]):
            letters = words[self.at].value or ""
            if any(options.kinds.get("-" + letter) in ("text", "doubt") for letter in letters):
                self.doubt(Why.OPTION, words[self.at])
                return True
            self.at += 1
        while self.at < len(words):
            word = words[self.at]
            value = word.value
            if value == "--":
                self.at += 1
                break
            if value is None and may_be_option(word) and not (declares and _ASSIGNED.match(word.prefix)):
                if not self._is_attached(options, word):
                    if not permuted or options.runs:
                        self.doubt(Why.OPTION, word)
                        if not permuted:
                            return True
                    operands.append(word)
                self.at += 1
                continue
            if value is None or not value.startswith("-") or (value == "-" and "-" not in options.kinds):
                if not permuted:
                    break
                operands.append(word)
                self.at += 1
                continue
            found = options.match(value)
            if found is None:
                self.doubt(Why.OPTION, word)
                return True
            self.at += 1
            if options.dashes and self.rest and self.rest[0].value in ("true", "false", "null"):
                # npm takes it for the value of an option that has none.
                self.doubt(Why.OPTION, self.rest[0])
                return True
            if self._option(found[0], found[1], word):
                return True
        if permuted:
            self.operands = [*operands, *self.rest]
        return False

    operands: Sequence[Word] = ()

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
            self.doubt(Why.OPTION, word)
            return True
        if kind in ("", "?"):
            return False
        holder = word
        if value is None:
            if not self.rest:
                return True
            holder = self.rest[0]
            self.at += 1
            if holder.splits:
                self.doubt(Why.OPTION, holder)
                return True
            value = holder.value
        if kind == ":":
            return False
        if kind == "number":
            if not _NUMBER.fullmatch(value or "") and not self.reader.is_number(holder):
                self.doubt(Why.ARITHMETIC, holder)
        elif kind == "code" or (kind == "module" and (value is None or value in MODULES_OF_CODE)):
            self.doubt(Why.CODE, holder)
        elif value is None:
            self.doubt(Why.TEXT, holder)
        elif kind == "replaced":
            self.replaced = value
        elif kind == "sql":
            self.sql(value, holder)
        elif kind == "file" and not NAME_OF_FILE.fullmatch(value):
            self.doubt(Why.CODE, holder)
        elif kind == "pipe" and value.startswith("|"):
            self.reader.read_text(value[1:], holder, self.by, "sh")
        elif kind == "python" and not VERSION.fullmatch(value):
            self.reader.read_text(value, holder, self.by, "sh")
        elif kind == "module":
            return True
        elif kind == "text":
            self.reader.read_text(value, holder, self.by, "sh")
        elif kind == "config":
            self.config(value, holder)
        elif kind == "name":
            self.one_name(value, holder)
        return False

    @property
    def by(self) -> tuple[RunBy, ...]:
        return (*self.command.run_by, RunBy("program", self.name))

    def run(self, words: Sequence[Word], assignments: Sequence[Assignment] = ()) -> None:
        """Take the command that these words are."""
        start, end = words[0].start, words[-1].end
        self.reader.add(SimpleCommand(tuple(words), tuple(assignments), (), self.by, start, end))

    def one_name(self, value: str | None, word: Word) -> None:
        if value is None or not _VARIABLE.fullmatch(value):
            self.doubt(Why.ARITHMETIC, word)
        else:
            self.reader.assigned(value)
            if value in INTEGER_VARIABLES and self.name not in _GIVING_NOTHING:
                self.doubt(Why.ARITHMETIC, word)
            if self.name in ("read", "mapfile", "readarray"):
                self.reader.array(value)

    def config(self, value: str, word: Word) -> None:
        """Read a setting of git."""
        key, _, meant = value.partition("=")
        lowered = key.lower()
        if lowered.startswith("alias.") and meant.startswith("!"):
            self.reader.read_text(meant[1:], word, self.by, "sh")
        elif lowered.startswith(CONFIG_OF_COMMANDS) and not lowered.endswith(".pager."):
            self.reader.read_text(meant, word, self.by, "sh")
        elif not lowered.startswith(HARMLESS_CONFIG):
            self.doubt(Why.OPTION, word)

    def sql(self, text: str, word: Word) -> None:
        if COMMANDS_IN_SQL.search(text):
            self.doubt(Why.CODE, word)


def _read_one_word(words: _Words) -> bool:
    if not words.rest:
        return True
    if words.rest[0].splits:
        words.doubt(Why.OPTION, words.rest[0])
        return True
    words.at += 1
    return False


def _read_assignments(words: _Words) -> bool:
    # To `env` any word with a `=` is one; `time` is followed by a command of the shell.
    form = _ASSIGNED if words.name == "time" else _ANY_ASSIGNED
    assignments = []
    while words.rest:
        word = words.rest[0]
        found = form.match(word.prefix)
        if found is None:
            break
        if word.splits and words.name != "time":
            # To a program it is a word like others: what it becomes may end in the name of a command.
            words.doubt(Why.NAME, word)
        assignments.append(Assignment(found[1], (word_behind(word, found.end()),), word.start, word.end))
        words.at += 1
    if not words.rest:
        for one in assignments:
            check_variable(words.reader, words.command, one)
        if words.name == "time" and words.reader.dialect == "zsh" and words.command.redirections:
            # zsh runs $NULLCMD, or $READNULLCMD.
            words.doubt(Why.NAME, words.command.words[0])
    elif words.rest[0].value is None:
        # It may become one.
        words.doubt(Why.NAME, words.rest[0])
    else:
        first = words.rest[0]
        if words.name == "time" and (first.text == first.value in RESERVED or _LOOKS_ASSIGNED.match(first.text)):
            words.doubt(Why.SYNTAX, first)
        words.run(words.rest, assignments)
    return True


def _read_command(words: _Words) -> bool:
    if words.rest:
        if words.name == "npm":
            _doubt_later_options(words)
        words.run(words.rest)
    return True


def _doubt_later_options(words: _Words) -> None:
    """``npm exec`` takes its options behind the command, too, up to ``--``."""
    options = Options.of(PROGRAMS["npm exec"][0])
    for before, word in zip(words.command.words[words.at - 1 :], words.rest, strict=False):
        if before.value == "--":
            return
        found = options.match(word.value) if word.value is not None and may_be_option(word) else None
        if (found is not None and found[0] in ("text", "doubt")) or (word.value is None and may_be_option(word)):
            words.doubt(Why.OPTION, word)


def _read_dashes(words: _Words) -> bool:
    for word in words.rest:
        words.at += 1
        if word.value == "--":
            return _read_command(words)
        if word.splits or (words.name == "npm" and may_be_option(word)):
            # `npm explore x --shell=sh`
            words.doubt(Why.OPTION, word)
    # _options may have gone behind the dashes already.
    written = words.command.words
    values = [word.value for word in written]
    if "--" in values[: words.at]:
        words.at = values.index("--") + 1
        return _read_command(words)
    if words.name == "kubectl":
        # Older ones take a command without the dashes.
        words.doubt(Why.OPTION, written[0])
    return True


def _read_more_options(words: _Words) -> bool:
    return words.options(Options.of(PROGRAMS[words.name][0]), permuted=False, declares=False)


def _read_line(words: _Words) -> bool:
    rest = words.rest
    if not rest:
        return words.name in ("ssh", "slogin", "rsh", "dbclient") and _read_shell_input(words)
    values = [word.value for word in rest]
    if any(value is None for value in values):
        words.doubt(Why.TEXT, next(word for word in rest if word.value is None))
        words.run(rest)
        return True
    text = " ".join(value for value in values if value is not None)
    dialect = words.reader.dialect if words.name == "eval" else "sh"
    holder = Word(text, (Literal(text),), rest[0].start, rest[-1].end)
    words.reader.read_text(text, holder, words.by, dialect)
    return True


def _read_shell_input(words: _Words) -> bool:
    """Read what is given to a shell as its input."""
    read_input(words.reader, words.command, words.by, "sh")
    return True


def _read_one_text(words: _Words) -> bool:
    if words.rest and words.rest[0].value != "-":
        if len(words.rest) > 1:
            read_word(words.reader, words.rest[0], words.by, words.reader.dialect)
        elif words.rest[0].value is None:
            words.doubt(Why.TEXT, words.rest[0])
    return True


def _read_with_input(words: _Words) -> bool:
    """The command of ``xargs``, with words that it reads."""
    rest = list(words.rest)
    replaced = words.replaced
    if not rest:
        rest = [Word("echo", (Literal("echo"),), words.command.start, words.command.end)]
    end = rest[-1].end
    if replaced:
        rest = [replaced_in(word, replaced) for word in rest]
    else:
        rest.append(Word("", (Expansion("input", "", splits=True),), end, end))
    words.run(rest)
    return True


def _read_names(words: _Words) -> bool:
    for word in words.rest:
        words.one_name(word.value, word)
        if words.name == "getopts":
            break
    for name in () if words.name in ("unset", "getopts") or words.rest else ("REPLY", "MAPFILE"):
        words.reader.assigned(name)
    return True


def _read_declare(words: _Words) -> bool:
    for word in words.rest:
        found = _ASSIGNED.match(word.prefix)
        if found is None:
            words.one_name(word.value, word)
            continue
        value = word_behind(word, found.end())
        words.reader.assigned(found[1], words.reader.is_number(value) if value.value is not None else False)
        if not value.prefix or value.prefix.startswith("("):
            # bash reads `declare x='($(command))'` again if x is an array.
            words.reader.compound(found[1], value)
        assignment = Assignment(found[1], (value,), word.start, word.end)
        check_variable(words.reader, words.command, assignment)
    return True


def _read_numbers(words: _Words) -> bool:
    for word in words.rest:
        if not words.reader.is_number(word):
            words.doubt(Why.ARITHMETIC, word)
    return True


def _read_let(words: _Words) -> bool:
    for word in words.rest:
        if word.value is None or not words.reader.let(word.value, word):
            words.doubt(Why.ARITHMETIC, word)
    return True


def _read_format(words: _Words) -> bool:
    """The words of ``printf``: zsh evaluates what a format takes as a number."""
    rest = words.rest
    if not rest:
        return True
    text = rest[0].value
    if text is None and may_be_option(rest[0]):
        words.doubt(Why.OPTION, rest[0])
    if words.reader.dialect == "zsh" and (text is None or "%" in _OF_TEXT.sub("", text)):
        for word in rest[1:]:
            if not words.reader.is_number(word):
                words.doubt(Why.ARITHMETIC, word)
    return True


def _read_locked(words: _Words) -> bool:
    """What stands behind the file of ``flock``: a command, or ``-c`` and a command line."""
    if words.rest and words.rest[0].value in ("-c", "--command"):
        words.at += 1
        if words.rest:
            read_word(words.reader, words.rest[0], words.by, "sh")
        return True
    return _read_command(words)


def _read_make(words: _Words) -> bool:
    if any(one.direction.startswith("here-") for one in inputs_of(words.command)):
        words.doubt(Why.CODE, words.command.words[0])
    if is_piped(words.by) and any(names_input(word) for word in words.command.words):
        words.doubt(Why.INPUT, words.command.words[0])
    for word in words.operands:
        name, sign, _ = word.prefix.partition("=")
        if name in COMMAND_VARIABLES and word.value is not None and sign:
            words.reader.read_text(word.value.partition("=")[2], word, words.by, "sh")
        if word.value is None and (sign or not word.splits):
            # It is, or may be, a variable whose value make expands.
            words.doubt(Why.VARIABLE, word)
        elif sign and (name.startswith(("SHELL", "MAKE", ".SHELL")) or _IN_RECIPES.search(word.prefix)):
            words.doubt(Why.VARIABLE, word)
    return True


def _read_set_config(words: _Words) -> bool:
    operands = list(words.operands)
    if len(operands) >= 2 or any(word.splits for word in operands):
        key = operands[0].value
        names_file = any(word.prefix.startswith(("-f", "--f")) for word in words.command.words)
        if key is None or names_file or not key.lower().startswith(HARMLESS_CONFIG):
            words.doubt(Why.STATE, operands[0])
    return True


def _read_script(words: _Words) -> bool:
    """A file in the program's own language, or what it reads."""
    if not words.rest or words.rest[0].value == "-":
        inputs = inputs_of(words.command)
        if not inputs or inputs[-1].direction != "in":
            words.doubt(Why.CODE, words.command.words[0])
    return True


def _read_sql_words(words: _Words) -> bool:
    texts = [*words.operands, *(one.target for one in inputs_of(words.command) if one.direction != "in")]
    for place, word in enumerate(texts):
        is_file = place == 0 and bool(words.operands)
        if word is None or (word.value is None and (not is_file or word.splits or not word.prefix)):
            words.doubt(Why.CODE, word or words.command.words[0])
        else:
            words.sql(word.value or word.text, word)
    if is_piped(words.by) and len(words.operands) < 2 and not any(gives_text(word) for word in words.command.words):
        # `\! command` in it runs a command.
        words.doubt(Why.INPUT, words.command.words[0])
    return True


def _read_plus(words: _Words) -> bool:
    for word in words.operands:
        if word.prefix.startswith("+") or (word.value is None and not word.prefix):
            words.doubt(Why.OPTION, word)
    return True


def _read_calls(words: _Words) -> bool:
    for word in words.operands:
        if not NAME_OF_FILE.fullmatch(word.value or "("):
            words.doubt(Why.CODE, word)
    return True


def _read_plain(words: _Words) -> bool:
    for word in words.command.words[2:]:
        if not _OF_TMUX.fullmatch(word.value or "") or (word.value or "").startswith("-F"):
            words.doubt(Why.TEXT, word)
    return True


def _doubt_first(words: _Words, why: str) -> bool:
    if words.rest:
        words.doubt(why, words.rest[0])
    return True


def _read_state(words: _Words) -> bool:
    return _doubt_first(words, Why.STATE)


def _read_file(words: _Words) -> bool:
    return _doubt_first(words, Why.FILE)


def _read_arithmetic(words: _Words) -> bool:
    return _doubt_first(words, Why.ARITHMETIC)


def _read_code(words: _Words) -> bool:
    words.doubt(Why.CODE, words.command.words[0])
    return True


def _read_doubtful(words: _Words) -> bool:
    words.doubt(Why.TEXT, words.command.words[0])
    return True


_OPERANDS: dict[str, Callable[[_Words], bool]] = {
    "WORD": _read_one_word,
    "ASSIGNMENTS": _read_assignments,
    "COMMAND": _read_command,
    "OPTIONS": _read_more_options,
    "DASHES": _read_dashes,
    "LINE": _read_line,
    "TEXT": _read_one_text,
    "INPUT": _read_with_input,
    "STDIN": _read_shell_input,
    "NAMES": _read_names,
    "DECLARE": _read_declare,
    "NUMBERS": _read_numbers,
    "LET": _read_let,
    "FORMAT": _read_format,
    "LOCKED": _read_locked,
    "MAKE": _read_make,
    "CONFIG": _read_set_config,
    "SCRIPT": _read_script,
    "SQL": _read_sql_words,
    "PLUS": _read_plus,
    "CALLS": _read_calls,
    "PLAIN": _read_plain,
    "CODE": _read_code,
    "STATE": _read_state,
    "FILE": _read_file,
    "ARITHMETIC": _read_arithmetic,
    "DOUBT": _read_doubtful,
}
"""What reads the words behind the options, by the kind of them: each returns whether nothing is left to look at."""
