"""Programs whose words need more than a row of the table: shells, ``find``, ``test``, ``sed``, ``awk``."""

from __future__ import annotations

from os.path import normpath

from hookrouter.shell._lists import FIND_ALONE, FIND_TAKING
from hookrouter.shell._programs import SHELLS, known_name
from hookrouter.shell.commands import Expansion, Literal, RunBy, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import ASCII, LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from hookrouter.shell._words import Dialect
    from hookrouter.shell.commands import Redirection

    class Reader(Protocol):
        """The reader of the text that a command stands in."""

        dialect: Dialect
        commands: list[SimpleCommand]

        def add(self, command: SimpleCommand) -> None:
            """Take a command that another one runs."""

        def doubt_word(self, why: str, word: Word) -> None:
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


__all__ = [
    "SPECIAL",
    "gives_text",
    "inputs_of",
    "is_piped",
    "may_be_option",
    "names_input",
    "read_input",
    "read_word",
    "replaced_in",
    "word_behind",
]


def read_word(reader: Reader, word: Word, by: tuple[RunBy, ...], dialect: Dialect) -> None:
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


def replaced_in(word: Word, replaced: str) -> Word:
    """Return a word of which nothing is known from where it holds, or may hold, what is replaced."""
    kept: list[Literal | Expansion] = []
    for part in word.parts:
        if replaced and not _may_hold(part, replaced):
            kept.append(part)
            continue
        if replaced and isinstance(part, Literal):
            kept.append(Literal(part.text.partition(replaced)[0]))
        elif replaced and kept and isinstance(kept[-1], Literal):
            # What is replaced may begin in it.
            kept[-1] = Literal(kept[-1].text.partition(replaced[0])[0])
        known = [one for one in kept if one.text]
        return word._with(parts=(*known, Expansion("input", word.text, splits=word.splits)))
    return word


def _may_hold(part: Literal | Expansion, text: str) -> bool:
    if isinstance(part, Literal):
        return text in part.text
    if part.kind in ("tilde", "number", "arithmetic"):
        # The path of a home is of such characters, and has no `{}` in it.
        return all(character.isalnum() or character in "/._-" for character in text)
    return True


def word_behind(word: Word, count: int) -> Word:
    """Return a word without its first characters, which are known."""
    parts = list(word.parts)
    first = parts[0]
    assert isinstance(first, Literal)  # noqa: S101 - it holds the characters
    parts[0] = Literal(first.text[count:])
    return word._with(parts=tuple(parts if parts[0].text or len(parts) == 1 else parts[1:]))


def inputs_of(command: SimpleCommand) -> list[Redirection]:
    """Return what a command reads from, as far as it is redirected: the last counts."""
    kinds = ("in", "in and out", "here-document", "here-string", "duplicate")
    return [one for one in command.redirections if one.descriptor in (None, 0) and one.direction in kinds]


def is_piped(by: tuple[RunBy, ...]) -> bool:
    """Whether a command stands in a pipeline, so that what it reads may come from another command of it."""
    return any(one.kind == "pipeline" for one in by)


def names_input(word: Word) -> bool:
    """Whether a word may say that make reads its rules from what it is given."""
    return bool(_OF_INPUT.search(word.value if word.value is not None else f"{word.prefix}-"))


def gives_text(word: Word) -> bool:
    """Whether a word is an option by which a database's client gets what it does, and then reads nothing."""
    return bool(_OF_TEXT.match(word.prefix))


_OF_INPUT = LazyPattern(r"^(-|(-[a-zA-Z]*f|--file=?|--makefile=?)-)$|^(-[a-zA-Z]*f|--(make)?file=)?/(dev|proc)/")
_OF_TEXT = LazyPattern(r"-(-command|-execute|-file|-list|-version|-help|[cefl])")


def read_input(reader: Reader, command: SimpleCommand, by: tuple[RunBy, ...], dialect: Dialect) -> None:
    inputs = inputs_of(command)
    # zsh gives a command all of its inputs, one behind the other, and what comes through a pipe before them.
    is_one = (len(inputs) == 1 and not is_piped(by)) or (bool(inputs) and reader.dialect != "zsh")
    last = inputs[-1] if is_one else None
    if last is not None and last.target is not None and last.direction.startswith("here-"):
        read_word(reader, last.target, (*by, RunBy("here-document")), dialect)
    else:
        reader.doubt_word(Why.INPUT, command.words[0])


def _shell(reader: Reader, command: SimpleCommand) -> None:
    """A shell: with ``-c`` it runs a text, with a file the commands in it, with neither what it reads."""
    words = command.words
    name = known_name((command.name or "").rpartition("/")[2])
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
        # bash, zsh and dash take `+c` for `-c`.
        is_text = is_text or "c" in letters
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
            read_word(reader, rest[0], by, dialect)
    elif is_input or not rest or _is_stdin(rest[0].value):
        read_input(reader, command, by, dialect)
    elif rest[0].value is None or _may_be_stdin(rest[0].value):
        reader.doubt_word(Why.FILE, rest[0])
    elif any(isinstance(one, Expansion) and one.kind == "process substitution" for one in rest[0].parts):
        reader.doubt_word(Why.INPUT, rest[0])


def _is_stdin(path: str | None) -> bool:
    """Whether a path is that of the standard input, however it is spelt."""
    return path is not None and "/" + normpath(path).lstrip("/") in _STDIN and path.startswith("/")


_STDIN = frozenset(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0"])


def _may_be_stdin(path: str) -> bool:
    """Whether a path may lead there: from another folder, or by the number of a process."""
    return normpath(path).rpartition("/")[2] in ("stdin", "0")


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


_FIND_ACTIONS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])


def _find_takes(word: str) -> int:
    """Return how many words behind this one belong to it."""
    return 2 if word == "-fprintf" else int(word in FIND_TAKING or word.startswith("-newer"))


def _find(reader: Reader, command: SimpleCommand) -> None:
    """``find``: its actions run commands."""
    words = command.words
    by = (*command.run_by, RunBy("program", "find"))
    at, may_take = 1, False
    while at < len(words):
        word = words[at]
        at += 1
        if word.value is None and may_be_option(word):
            may_take = True
            following = words[at].value if at < len(words) else "-"
            if word.splits or following is None or not following.startswith(("-", "(", "!", ")", ",")):
                reader.doubt_word(Why.OPTION, word)
        if word.value not in _FIND_ACTIONS:
            takes = _find_takes(word.value or "")
            for taken in words[at : at + takes]:
                if taken.splits and may_be_option(taken):
                    reader.doubt_word(Why.OPTION, taken)
            at += takes
            if not takes and word.value is not None and word.value[:1] == "-" and word.value not in FIND_ALONE:
                reader.doubt_word(Why.OPTION, word)
            continue
        end = at
        while end < len(words) and not (
            words[end].value == ";" or (words[end].value == "+" and words[end - 1].value == "{}")
        ):
            end += 1
        inner = [replaced_in(one, "{}") for one in words[at:end]]
        if may_take and any(one.value in _FIND_ACTIONS for one in inner):
            # An unknown word may have taken the action's name, and the next one be the action.
            reader.doubt_word(Why.OPTION, word)
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
    # Few commands need it.
    from hookrouter.shell._tests import bracket_doubts

    for why, word in bracket_doubts(reader, words):
        reader.doubt_word(why, word)


_SED_OPTION = LazyPattern(
    r"-[nErsuz]+|-[nErsz]*i[^e]*|--in-place(?:=[\w.]*)?|--quiet|--silent|--regexp-extended|--sandbox"
)
_AWK_OPTION = LazyPattern(r"-[Fv].")
_AWK_RUNS = LazyPattern(r"system|\||getline|@|\bload\b")
_BRACKET = r"\[(?!\^?\])(?:\[(?!DELIMITER):[a-z]+:\]|\\.|(?!DELIMITER)[^][\\\n])+\]"
"""A bracket expression of sed. In some versions (4.9) a delimiter in one ends nothing: so none may be in it."""
_SED_ADDRESS = rf"/(?:[^/[\\\n]|{_BRACKET.replace('DELIMITER', '/')})*/"
_SED_PLAIN = LazyPattern(
    rf"(?:\s*(?:\d+|\$|{_SED_ADDRESS})?(?:,(?:\d+|\$|{_SED_ADDRESS}|\+\d+))?!?\s*"
    rf"(?:[pdqDPnNgGhHx=]|s(?P<d>[/|#,@!:])(?:(?!(?P=d))[^[\\\n]|\\.|{_BRACKET.replace('DELIMITER', '(?P=d)')})*(?P=d)"
    r"(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)[gpIi0-9]*)"
    r"\s*(?:;|$))+",
    ASCII,
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
        elif not _SED_OPTION.fullmatch(value):
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
            if words[0].splits:
                reader.doubt_word(Why.CODE, words[0])
            words.pop(0)
        elif (value is not None and _AWK_OPTION.match(value)) or value == "--":
            continue
        elif value is not None and value.startswith("-") and value != "-":
            reader.doubt_word(Why.OPTION, word)
            return
        else:
            if value is None or _AWK_RUNS.search(value.replace("||", "")):
                reader.doubt_word(Why.CODE, word)
            return


def _cmake(reader: Reader, command: SimpleCommand) -> None:
    """``cmake -E env``, ``time``, ``chdir``…: tools that run commands."""
    if len(command.words) > 1 and (command.words[1].value == "-E" or command.words[1].splits):
        reader.doubt_word(Why.OPTION, command.words[1])


def _service(reader: Reader, command: SimpleCommand) -> None:
    """``service``: a path in the name of one leads to any program."""
    if len(command.words) > 1 and "/" in (command.words[1].value or "/"):
        reader.doubt_word(Why.TEXT, command.words[1])


def _other_shell(reader: Reader, command: SimpleCommand) -> None:
    reader.doubt_word(Why.TEXT, command.words[0])


SPECIAL: dict[str, Callable[[Reader, SimpleCommand], None]] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(
        ("fish", "csh", "tcsh", "ksh", "mksh", "ksh93", "oksh", "pwsh", "nu", "elvish", "xonsh"), _other_shell
    ),
    "set": _set,
    "find": _find,
    "bfs": _find,
    "[": _bracket,
    "test": _bracket,
    "sed": _sed,
    "awk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "goawk": _awk,
    "original-awk": _awk,
    "cmake": _cmake,
    "service": _service,
}
"""Programs whose words need more than a row."""
