"""Who decides on a call, by rules: the first rule that is about it, and of a command line the strictest of its parts.

A call is taken apart into what it does: the commands that a line runs, wherever they stand, the files that it reads
and writes, and what is not certain about it. **To grant takes certainty of all of it; to refuse, that it may be so**:
a part that a refusing rule may be about, for all that is known, goes to a person, and one that it is about for certain
gets what the rule says.
"""

from __future__ import annotations

from hookrouter.permission_rules.rule import (
    EDITING,
    EVERY_TOOL,
    MAYBE,
    NO,
    READING,
    RUNNING,
    YES,
    Rule,
    is_tool,
    parse,
)
from hookrouter.util.glob import fits_glob, has_wildcard
from hookrouter.util.lazy import cached_property
from hookrouter.util.system import is_darwin
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from hookrouter.config import ApprovalRule, Config
    from hookrouter.permission_rules.files import FileUse, Folders
    from hookrouter.permission_rules.paths import PathPattern, Place
    from hookrouter.permission_rules.words import CommandPattern, Shaped
    from hookrouter.shell.commands import Doubt, Reading, SimpleCommand

__all__ = [
    "AGENT",
    "ALLOW",
    "DENY",
    "PERSON",
    "Call",
    "CompiledRule",
    "JudgedPart",
    "Judgement",
    "Rules",
    "with_project",
]

ALLOW, DENY, AGENT, PERSON = "allow", "deny", "agent", "person"
_STRICTEST = (DENY, PERSON, AGENT, ALLOW)

_MOST_CHOSEN = 1000
_COMMANDS = "Bash("
"""How a rule begins that is about some commands."""

_INTERPRETERS = frozenset(["python", "pypy", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "Rscript", "lua"])
_SHELLS = ("bash", "sh", "zsh", "dash", "ash")
_TRANSPARENT = frozenset(
    [
        *_SHELLS,
        "builtin",
        "command",
        "env",
        "eval",
        "ionice",
        "nice",
        "nohup",
        "setsid",
        "stdbuf",
        "time",
        "timeout",
        "xargs",
    ]
)
"""Programs that do nothing but run what they are given: no rule needs to grant them if that is known."""


class Call(Value):
    """A call of a tool, with what its paths are meant from."""

    tool: str
    """As hooks name it."""
    tool_input: Mapping[str, Any]
    folder: str
    """The project's folder, below which rules about files are."""
    cwd: str
    """Where Claude is."""
    shell: str = "bash"
    """The shell that runs command lines: ``bash`` or ``zsh``."""


class JudgedPart(Value):
    """One thing that a call does, and who decides on it."""

    kind: str
    """``call``, ``command``, ``write``, ``read`` or ``doubt``."""
    text: str
    """A command or a path as it is written; a doubt in words."""
    start: int
    """Where in the command line: offsets in characters; 0 and 0 for a tool that has none."""
    end: int
    decide: str
    """``allow``, ``deny``, ``agent`` or ``person``; empty for a part that has no say."""
    rule: str
    """As config.toml has it; empty if none is about it."""
    certain: bool = True
    """False where a refusing rule may be about it, for all that is known."""


class Judgement(Value):
    """Who decides on a call, and why."""

    decide: str
    rule: str
    """The rule that says so, as config.toml has it; empty if none is about the call."""
    parts: tuple[JudgedPart, ...] = ()
    reading: Reading | None = None
    """How a command line was read."""
    file: str = ""
    """The project's file that has the rule; empty for the user's own."""


class CompiledRule:
    """A rule that is ready to be asked."""

    def __init__(self, text: str, decide: str) -> None:
        """Take what config.toml says. A text that is no rule raises RuleError where it is first asked of."""
        self.text, self.decide = text, decide
        self.refuses = decide in (DENY, PERSON)
        self._patterns: dict[str, PathPattern] = {}
        self._command: CommandPattern | None = None

    @cached_property
    def rule(self) -> Rule:
        """What it is about. Of hundreds of rules a call of a hook needs few. Raises RuleError."""
        return parse(self.text)

    def program(self) -> str:
        """Return the program that the rule names; empty if it may be about others, a bracket if it is about none."""
        text = self.text.strip()
        if not text.startswith(_COMMANDS):
            return "(" if "(" in text else ""
        name = text[len(_COMMANDS) : -1].removesuffix(":*").split(None, 1)[0]
        # Where case does not matter every name is tried.
        return "" if has_wildcard(name) or (is_darwin and self.refuses) else name

    def of_command(self, tool: str, command: Shaped) -> int:
        """Return whether the rule is about a command that a tool runs."""
        if not is_tool(self.rule, tool):
            return NO
        if self.rule.specifier is None:
            return YES
        if self._command is None:
            from hookrouter.permission_rules.words import CommandPattern

            self._command = CommandPattern(self.rule.specifier, refuses=self.refuses, folds=is_darwin)
        return self._command.fit(command)

    def of_doubt(self, tool: str) -> int:
        """Return whether the rule is about a line of which not all is known."""
        if is_tool(self.rule, tool) and self.rule.specifier is None:
            return YES
        tools = ("Bash", *EDITING, *READING)
        return MAYBE if self.refuses and self.rule.tool in tools else NO

    def of_file(self, tool: str, use: FileUse, found: Sequence[Place], folders: Folders, folder: str) -> int:
        """Return whether the rule is about a file that a command of a tool uses; ``found``: where that may be."""
        if use.by_shell and is_tool(self.rule, tool) and self.rule.specifier is None:
            return YES
        # A rule for every tool, or for all commands, has its say about the command whose file it is.
        if self.rule.tool == EVERY_TOOL or not is_tool(
            self.rule, "Edit" if use.writes else "Read", refuses=self.refuses
        ):
            return NO
        if self.rule.specifier is None:
            return YES
        pattern = self._pattern(self.rule.specifier, folder)
        if found and (use.named.path is not None or not self.refuses):
            return pattern.fit(found, with_folders=use.with_content)
        if self.refuses and not (folders.known and use.named.stays) and (use.writes or use.by_shell):
            return MAYBE
        return pattern.fit_unknown(use.named, folders.bases)

    def of_call(self, call: Call, paths: Sequence[Place]) -> int:
        """Return whether the rule is about a call that runs no command line; ``paths``: where its file is, if known."""
        if not is_tool(self.rule, call.tool, refuses=self.refuses):
            return NO
        if self.rule.specifier is None:
            return YES
        unknown = MAYBE if self.refuses else NO
        if self.rule.tool == "WebFetch":
            return _host_fit(self.rule.specifier.removeprefix("domain:"), call.tool_input.get("url"), unknown)
        if self.rule.tool == "Elicitation":
            fits = fits_glob(str(call.tool_input.get("server", "")), self.rule.specifier)
            return YES if fits else NO
        if not paths:
            return unknown
        return self._pattern(self.rule.specifier, call.folder).fit(paths)

    def _pattern(self, specifier: str, folder: str) -> PathPattern:
        found = self._patterns.get(folder)
        if found is None:
            from hookrouter.permission_rules.paths import PathPattern

            found = PathPattern(specifier, folder, refuses=self.refuses, folds=is_darwin)
            self._patterns = {**self._patterns, folder: found} if len(self._patterns) < 64 else {folder: found}
        return found


class Rules:
    """Rules in their order, ready to be asked about many calls."""

    def __init__(self, rules: Sequence[CompiledRule]) -> None:
        """Hold them."""
        self.rules = tuple(rules)
        self._chosen: dict[tuple[str, frozenset[str] | None], tuple[CompiledRule, ...]] = {}
        self._programs: list[str] | None = None
        """What each names; made once."""

    @classmethod
    def of(cls, rules: Sequence[ApprovalRule]) -> Rules:
        """Make them of what config.toml says; once, for calls that follow each other."""
        global _last
        if _last is None or _last[0] is not rules:
            _last = rules, cls([CompiledRule(rule.tool, rule.decide) for rule in rules])
        return _last[1]

    def judge(self, call: Call, reading: Reading | None = None) -> Judgement:
        """Return who decides on a call. ``reading`` is that of its command line, if it is known already."""
        if call.tool not in RUNNING:
            paths = _paths_of(call)
            decide, rule, certain = self._first(self.rules, lambda one: one.of_call(call, paths))
            return Judgement(decide, rule, (JudgedPart("call", _told(call), 0, 0, decide, rule, certain),))
        command = call.tool_input.get("command")
        if not self._looks_inside(call.tool) or not isinstance(command, str) or call.tool == "PowerShell":
            # All of the line gets the same, or it is none that can be read.
            decide, rule, certain = self._first(self.rules, lambda one: one.of_doubt(call.tool))
            return Judgement(decide, rule, (JudgedPart("call", str(command or ""), 0, 0, decide, rule, certain),))
        if reading is None:
            from hookrouter.shell.reader import read

            reading = read(command, "zsh" if call.shell == "zsh" else "bash")
        parts = tuple(self._parts(call, reading))
        said = [part for part in parts if part.decide]
        if not said:
            return Judgement(PERSON, "", parts, reading)
        # Of those that are as strict, one that a rule names: where no rule is about a call, nobody holds it.
        strictest = min(said, key=lambda part: (_STRICTEST.index(part.decide), not part.rule))
        return Judgement(strictest.decide, strictest.rule, parts, reading)

    def _looks_inside(self, tool: str) -> bool:
        """Whether the rules ask for more of a command line than which tool runs it."""
        for rule in self.rules:
            if rule.rule.specifier is None and is_tool(rule.rule, tool):
                return False
            if rule.rule.tool == "Bash" or (rule.refuses and rule.rule.tool in (*EDITING, *READING)):
                return True
        return False

    def _parts(self, call: Call, reading: Reading) -> list[JudgedPart]:
        from hookrouter.permission_rules.files import Folders, redirected, used_files
        from hookrouter.permission_rules.paths import places
        from hookrouter.permission_rules.words import Shaped

        folders = Folders(call.cwd or call.folder, reading.text)
        parts: list[JudgedPart] = []

        def of_file(use: FileUse) -> None:
            path = use.named.path or use.named.like
            if path is None and not (use.named.prefix not in ("", "./") or use.writes or use.by_shell):
                # What a program reads of all that a variable may name is its own business, as with any script.
                return
            is_known = path is not None and (folders.known or path.startswith("/"))
            found = places(path or "", folders.bases) if is_known else []
            decide, rule, certain = self._first(
                self._for_files(call.tool), lambda one: one.of_file(call.tool, use, found, folders, call.folder)
            )
            # A file that the shell writes needs somebody's grant; all else is the command's own business.
            if rule or (use.by_shell and use.writes):
                kind = "write" if use.writes else "read"
                parts.append(JudgedPart(kind, use.word.text, use.word.start, use.word.end, decide, rule, certain))

        for command in reading.commands:
            if command.words:
                shaped = Shaped(command)
                decide, rule, certain = self._first(
                    self._for_commands(call.tool, shaped.names),
                    lambda one: one.of_command(call.tool, shaped),  # noqa: B023
                )
                if not rule and _is_transparent(command, reading):
                    decide = ""
                text = _text(command, reading)
                parts.append(JudgedPart("command", text, command.start, command.end, decide, rule, certain))
            for use in (*redirected(command.redirections, folders.home), *used_files(command, folders.home)):
                of_file(use)
            folders.follow(command)
        for use in redirected(reading.redirections, folders.home):
            of_file(use)
        doubts = [doubt for doubt in reading.doubts if not _is_a_script(doubt, reading)]
        if doubts:
            decide, rule, certain = self._first(self.rules, lambda one: one.of_doubt(call.tool))
            parts += [JudgedPart("doubt", doubt.why, doubt.start, doubt.end, decide, rule, certain) for doubt in doubts]
        return parts

    def _for_files(self, tool: str) -> tuple[CompiledRule, ...]:
        """Return the rules that may be about a file that a command of a tool uses."""
        if (tool, None) not in self._chosen:
            families = (*EDITING, *READING)
            self._chosen[tool, None] = tuple(
                one
                for one in self.rules
                if one.rule.tool in families or (one.rule.specifier is None and is_tool(one.rule, tool))
            )
        return self._chosen[tool, None]

    def _for_commands(self, tool: str, names: frozenset[str] | None) -> tuple[CompiledRule, ...]:
        """Return the rules that may be about a command that a tool runs, by the names that its program may have."""
        if names is None:
            return self.rules
        found = self._chosen.get((tool, names))
        if found is None:
            if self._programs is None:
                self._programs = [one.program() for one in self.rules]
            wanted = names | {""}
            found = tuple(
                one
                for one, program in zip(self.rules, self._programs, strict=True)
                if program in wanted and is_tool(one.rule, tool)
            )
            if len(self._chosen) > _MOST_CHOSEN:
                self._chosen.clear()
            self._chosen[tool, names] = found
        return found

    @staticmethod
    def _first(rules: Iterable[CompiledRule], fit_of: Callable[[CompiledRule], int]) -> tuple[str, str, bool]:
        """Return what the first rule that is about something says, the rule, and whether that is certain."""
        maybe: CompiledRule | None = None
        for rule in rules:
            fit = fit_of(rule)
            if fit == YES:
                if maybe is None or maybe.decide == rule.decide:
                    return rule.decide, rule.text, True
                break
            if fit == MAYBE and rule.refuses:
                if maybe is not None and maybe.decide != rule.decide:
                    break
                maybe = maybe or rule
        return (PERSON, "", True) if maybe is None else (PERSON, maybe.text, False)


_last: tuple[Sequence[ApprovalRule], Rules] | None = None


def _text(command: SimpleCommand, reading: Reading) -> str:
    """Return a command as it is written; one in a text that another command runs by its words."""
    written = reading.text[command.start : command.end]
    beginning = command.assignments[0].name if command.assignments else command.words[0].text
    return written if written.startswith(beginning) else " ".join(word.text for word in command.words)


def _is_a_script(doubt: Doubt, reading: Reading) -> bool:
    """Whether a doubt is about what an interpreter is given in its own language: a script, of which nothing is known.

    A rule that grants ``python3`` grants scripts, wherever they stand.
    """
    from hookrouter.shell.commands import Why

    return doubt.why == Why.CODE and any(
        (command.name or "").rpartition("/")[2].rstrip("0123456789.") in _INTERPRETERS
        for command in reading.commands
        if command.start <= doubt.start and doubt.end <= command.end
    )


def _is_transparent(command: SimpleCommand, reading: Reading) -> bool:
    """Whether a command does nothing but run others, which the reading has."""
    name = (command.name or "").rpartition("/")[2]
    if name not in _TRANSPARENT:
        return False
    depth = len(command.run_by)
    return any(
        len(other.run_by) > depth
        and other.run_by[:depth] == command.run_by
        and (other.run_by[depth].kind, other.run_by[depth].name.rpartition("/")[2]) == ("program", name)
        and command.start <= other.start
        and other.end <= command.end
        for other in reading.commands
    )


def _host_fit(wanted: str, address: object, unknown: int) -> int:
    from hookrouter.permission_rules.hosts import host_of, is_plain

    host = host_of(address) if isinstance(address, str) else None
    if host is None:
        return unknown
    wanted = wanted.lower()
    if unknown == MAYBE:
        return YES if fits_glob(host, wanted) or host.endswith(f".{wanted}") else NO
    return YES if fits_glob(host, wanted) and is_plain(str(address)) else NO


def with_project(found: Judgement | None, config: Config, call: Call) -> Judgement | None:
    """Return the stricter of what the user's rules say of a call, and those of the session's project.

    ``found`` is the first of them, None if they have no say; None if nobody has.
    """
    own = config.project_rules
    if not own.rules:
        return found
    said = Rules.of(own.rules).judge(call._with(folder=own.folder), None if found is None else found.reading)
    if not said.rule or (found is not None and _rank(found) <= _rank(said)):
        return found
    return said._with(file=own.file)


def _rank(found: Judgement) -> tuple[int, bool]:
    return _STRICTEST.index(found.decide), not found.rule


def _paths_of(call: Call) -> list[Place]:
    """Return where the file of a call lies, as Claude Code takes its path; empty if it has none that is known."""
    if call.tool not in (*EDITING, *READING):
        return []
    from hookrouter.permission_rules.paths import places
    from hookrouter.util.client_paths import paths_of

    cwd = call.cwd or call.folder
    # Claude Code has no MultiEdit any more; its input was that of Edit.
    tool = "Edit" if call.tool == "MultiEdit" else call.tool
    found = paths_of(tool, call.tool_input, cwd, writes=call.tool in EDITING)
    if not found:
        return []
    # Claude Code goes up from a link's name, the system from where it leads.
    written = [value for value in call.tool_input.values() if isinstance(value, str) and ".." in value.split("/")]
    return [place for path in (*written, *found) for place in places(path, (cwd,))]


def _told(call: Call) -> str:
    """Return what a call is about, in a word."""
    keys = ("file_path", "notebook_path", "path", "url", "server")
    return next((value for key in keys if isinstance(value := call.tool_input.get(key), str)), "")
