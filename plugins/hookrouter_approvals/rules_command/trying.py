"""The calls of the past, run through the rules: who would have decided, what would have stopped, what changes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.config import Config
from hookrouter.permission_rules.judging import AGENT, ALLOW, DENY, PERSON, Call, with_project
from hookrouter.permission_rules.rule import EDITING, RUNNING
from hookrouter.util.text import printable
from hookrouter_approvals.rules_command.proposals import ByHand, plain_command
from hookrouter_approvals.rules_command.tally import Tally
from hookrouter_approvals.rules_command.transcripts import FAILED, RAN, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from hookrouter.permission_rules.judging import JudgedPart, Judgement, Rules
    from hookrouter_approvals.rules_command.transcripts import PastCall, Transcripts

__all__ = ["Trial", "trial_lines"]

UNASKED = "unasked"
"""No rule is about the call, and Claude Code lets it run without a question."""

_KEYS = ("command", "file_path", "notebook_path", "path", "url", "server")
"""What rules look at in a tool's input."""
_DIALOGS = ("AskUserQuestion",)
"""Tools that are dialogs themselves, and no rule's business."""
_ASKING_MODES = ("default", "acceptEdits", "plan")
"""The modes in which a person is asked: what ran there was allowed, by the person or by Claude Code's own rules."""

_UNASKED_TOOLS = frozenset(
    [
        "Agent", "BashOutput", "EnterPlanMode", "Glob", "Grep", "KillShell", "LS", "ListAgents", "ReadNotifications",
        "SendMessage", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoWrite",
        "ToolSearch",
    ]
)  # fmt: skip
_READ_ONLY = frozenset(["[", "cat", "cd", "grep", "head", "ls", "pwd", "sort", "tail", "test", "uniq", "wc"])
"""Commands that Claude Code runs without a question: those that were seen so on 2.1.330 and 2.1.332, not all."""

_CACHED = 8192
"""Judgements of equal calls that are kept."""
_LONGEST_CACHED = 4000
_EXAMPLES = 3
_TOP = 20


class _Piece(NamedTuple):
    """What is kept of a part of a call."""

    kind: str
    text: str
    decide: str
    rule: str
    command: str
    """Of a command of which every word is known and plain: the words; else empty."""


class _Verdict(NamedTuple):
    """What is kept of a judgement."""

    decide: str
    rule: str
    certain: bool
    pieces: tuple[_Piece, ...]
    rules: frozenset[str]
    """All rules that are about a part."""
    is_read_only: bool
    """Whether Claude Code lets it run without a question, if no rule is about it."""
    stops: frozenset[str]
    """In a few words, which parts a person decides on."""


class Trial:
    """Takes calls, one by one, and counts what the rules say to them. Memory is bounded."""

    def __init__(
        self,
        rules: Rules,
        new: Rules | None = None,
        shell: str = "bash",
        *,
        config_in: Callable[[str], Config] = lambda _folder: Config(),
        by_person: Collection[str] = (),
        by_others: Collection[str] = (),
    ) -> None:
        """Try ``rules``, and compare them with ``new``.

        ``by_person`` and ``by_others`` are the ids of calls whose dialogs hookrouter has seen a person, or somebody
        else, decide; for the others the transcript is all there is. ``config_in`` returns the config with the rules of
        a session's project, by its folder.
        """
        self.rules, self.new = rules, new
        self.calls = self.refused = self.uncertain = self.by_hand = 0
        self.decided = dict.fromkeys((ALLOW, DENY, AGENT, PERSON, UNASKED), 0)
        self.used: set[str] = set()
        self.stops = Tally(50_000)
        self.changes: dict[tuple[str, str], list[Any]] = {}
        self._hand = ByHand()
        self._by_person, self._by_others = by_person, by_others
        self._shell, self._config_in = shell, config_in
        self._cached = lru_cache(maxsize=_CACHED)(self._judge)

    def add(self, call: PastCall) -> None:
        """Take one call."""
        if call.tool in _DIALOGS:
            return
        key = next((one for one in _KEYS if one in call.tool_input), "")
        value = call.tool_input.get(key)
        value = value if isinstance(value, str) else ""
        judge = self._cached if len(value) <= _LONGEST_CACHED else self._judge
        today, later = judge(call.tool, key, value, call.folder, call.cwd)
        self.calls += 1
        decide = self._who(call, value, today)
        self.decided[decide] += 1
        self.refused += call.ended == REFUSED
        self.uncertain += not today.certain
        self.used |= today.rules
        if decide == PERSON:
            for one in today.stops:
                self.stops.add(one, value or call.tool)
        if later is not None:
            after = self._who(call, value, later)
            if after != decide:
                self._changed(decide, after, call, value)
        if decide in (PERSON, AGENT) and self._was_allowed(call):
            self.by_hand += 1
            self._allowed(call, value, today)

    def document(self) -> dict[str, Any]:
        """Return what was found, as JSON values."""
        unused = [one.text for one in self.rules.rules if one.text not in self.used]
        behind = [*self.rules.rules, *(self.new.rules if self.new is not None else ())]
        return {
            "calls": self.calls,
            "decided": dict(self.decided),
            "uncertain": self.uncertain,
            "refused_by_person": self.refused,
            "allowed_by_hand": self.by_hand,
            "stops": [_counted("what", *one) for one in self.stops.most(limit=_TOP)],
            "unused": list(dict.fromkeys(unused)),
            "changes": [
                {"from": before, "to": after, "count": count, "examples": examples}
                for (before, after), (count, examples) in sorted(self.changes.items(), key=lambda one: -one[1][0])
            ],
            "proposals": [_counted("rule", *one) for one in self._hand.proposals(behind)[:_TOP]],
        }

    def _judge(self, tool: str, key: str, value: str, folder: str, cwd: str) -> tuple[_Verdict, _Verdict | None]:
        call = Call(tool, {key: value} if key else {}, folder, cwd, self._shell)
        config, users = self._config_in(folder), self.rules.judge(call)
        today = with_project(users, config, call) or users
        if self.new is None:
            return _verdict(tool, today), None
        later = self.new.judge(call, users.reading)
        return _verdict(tool, today), _verdict(tool, with_project(later, config, call) or later)

    def _who(self, call: PastCall, value: str, verdict: _Verdict) -> str:
        if verdict.decide != PERSON or verdict.rules:
            return verdict.decide
        if call.tool == "Read":
            return UNASKED if value.startswith(f"{call.folder.rstrip('/')}/") else PERSON
        return UNASKED if verdict.is_read_only or call.tool in _UNASKED_TOOLS else PERSON

    def _changed(self, before: str, after: str, call: PastCall, value: str) -> None:
        change = self.changes.setdefault((before, after), [0, []])
        change[0] += 1
        example = f"{call.tool}: {value}"[:200]
        if len(change[1]) < _EXAMPLES and example not in change[1]:
            change[1].append(example)

    def _was_allowed(self, call: PastCall) -> bool:
        """Whether a person has allowed a call, for all that is known."""
        if call.ended not in (RAN, FAILED) or call.id in self._by_others:
            return False
        return call.id in self._by_person or call.mode in _ASKING_MODES

    def _allowed(self, call: PastCall, value: str, verdict: _Verdict) -> None:
        for piece in verdict.pieces:
            # What a rule has been asked about is its author's business.
            if piece.decide != PERSON or piece.rule:
                continue
            if piece.kind == "command":
                self._hand.command(piece.command, value)
            elif piece.kind == "write" or (piece.kind == "call" and call.tool in EDITING):
                self._hand.file(piece.text, call.folder)
            elif piece.kind == "call":
                self._hand.call(call.tool, value)


def trial_lines(found: Mapping[str, Any], transcripts: Transcripts, *, compared: bool) -> Iterator[str]:
    """Yield what a trial has found, as a person reads it. Safe to write to a terminal."""
    calls, decided = found["calls"], found["decided"]
    yield f"{calls:,} calls in {len(transcripts.paths):,} transcripts ({transcripts.size / 1e6:,.0f} MB)"
    words = (
        (ALLOW, "allowed by a rule"),
        (DENY, "refused by a rule"),
        (AGENT, "the agent decides"),
        (PERSON, "a person decides"),
        (UNASKED, "no rule, and Claude Code does not ask"),
    )
    for key, text in words:
        share = decided[key] * 100 / calls if calls else 0.0
        yield f"  {decided[key]:>9,}  {share:5.1f} %  {text}"
    yield f"  {found['uncertain']:>9,}           of all were not certain"
    yield from _listed("What would most often have waited for a person:", found["stops"], "what")
    if found["unused"]:
        yield ""
        yield f"Rules that were never used ({len(found['unused'])}):"
        yield from (f"  {printable(one)}" for one in found["unused"][:_TOP])
        if len(found["unused"]) > _TOP:
            yield f"  and {len(found['unused']) - _TOP} more (--json has them)"
    if compared:
        yield ""
        yield "With the other config:" if found["changes"] else "With the other config nothing changes."
        for one in found["changes"]:
            yield f"  {one['count']:>9,}  from {one['from']} to {one['to']}"
            yield from (f"               {_short(example)}" for example in one["examples"])
    hand = "Rules that would allow what was allowed by hand, to be put after the others:"
    yield from _listed(hand, found["proposals"], "rule")
    faults = [(transcripts.broken, "broken lines"), (transcripts.too_long, "lines of more than 16 MB")]
    for count, text in faults:
        if count:
            yield f"{count:,} {text} were passed over"
    for path, why in transcripts.unreadable:
        yield printable(f"{path}: not read to its end: {why}")


def _listed(head: str, rows: list[dict[str, Any]], key: str) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield head
    for row in rows:
        example = "" if row["example"] in row[key] else f"   such as {_short(row['example'])}"
        yield f"  {row['count']:>9,}  {printable(row[key])}{example}"


def _short(text: str) -> str:
    return printable(text if len(text) <= 80 else f"{text[:80]}…")


def _counted(name: str, text: str, count: int, example: str) -> dict[str, Any]:
    return {name: text, "count": count, "example": example}


def _verdict(tool: str, found: Judgement) -> _Verdict:
    words: dict[tuple[int, int], tuple[str, ...]] = {}
    for command in () if found.reading is None else found.reading.commands:
        values = tuple(word.value for word in command.words if word.value is not None)
        if len(values) == len(command.words):
            # Of commands in one place, such as the text of `bash -c`, none is known by its place.
            words[command.start, command.end] = () if (command.start, command.end) in words else values
    pieces = []
    stops = set()
    is_read_only = tool in RUNNING and found.reading is not None
    for part in found.parts:
        if not part.decide:
            continue
        own = words.get((part.start, part.end), ()) if part.kind == "command" else ()
        pieces.append(_Piece(part.kind, part.text[:200], part.decide, part.rule, plain_command(own)))
        is_read_only = is_read_only and bool(own) and own[0] in _READ_ONLY
        if part.decide == PERSON:
            stops.add(_shape(tool, part, own))
    return _Verdict(
        found.decide,
        found.rule,
        all(part.certain and part.kind != "doubt" for part in found.parts),
        tuple(pieces),
        frozenset(part.rule for part in found.parts if part.rule),
        is_read_only and bool(pieces),
        frozenset(stops),
    )


def _shape(tool: str, part: JudgedPart, words: tuple[str, ...]) -> str:
    """Return in a few words what a part of a call is, so that those that are alike are counted together."""
    if part.kind == "doubt":
        return f"not certain: {part.text}"
    if part.kind == "command":
        words = words or tuple(part.text.split(None, 2))
        second = words[1] if len(words) > 1 and words[1][:1].isalpha() and words[1].replace("-", "").isalnum() else ""
        return " ".join(filter(None, (words[0] if words else "", second)))
    if part.kind == "call":
        return tool
    return f"{part.kind}s {part.text}"
