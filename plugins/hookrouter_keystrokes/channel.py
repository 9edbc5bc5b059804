"""Brings an answer to Claude Code through the keyboard: the answer channel named ``keys``.

Look, act, look: read the screen, let the planner decide one key, press it, and read again until its effect shows. The
pace is set by the screen. What the channel adds to the planner is time:

* the dialog is drawn up to half a second after the hook has ended, so its absence is not final at once;
* from 2.1.318 on the client ignores Enter and digits for the first 150 ms after the dialog has become visible;
* between a look and a key a person can press one: after a Tab of theirs a digit or Enter that was meant for a page can
  submit or decline the form on its review screen, and after their Escape an Up brings an old prompt back. So before the
  first key all others are kept out, if the terminal can;
* a key whose effect does not show may be lost or only late. It is never just repeated: an arrow key is pressed first,
  and because input is handled in order, a moved cursor proves that the earlier key was dropped.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering import (
    Delivery,
    DeliveryOutcome,
    HoldingTerminal,
    Paste,
    Press,
    Stop,
    Taken,
    TerminalError,
    Wait,
)
from hookrouter.decisions import Select
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.dialog import DialogState, OtherDialog, Page, Prompt, Review, RowKind, Tail, Unknown, read
from hookrouter_keystrokes.planner import GrammarPlanner

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.answering import AnswerRequest, KeystrokePlanner, Screen, TerminalAddress, TerminalBackend
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["KeysChannel", "Pace"]


class Pace(NamedTuple):
    """How long the channel waits for what, in seconds."""

    poll: float = 0.015
    """Between two looks at the screen."""
    settle: float = 0.25
    """How long the dialog must have been visible before any key but an arrow (the client's input guard)."""
    effect: float = 0.8
    """For the effect of a key to show, before it is tested whether the key was lost."""
    invisible: float = 0.06
    """After a key that changes nothing on the screen, such as C-e."""
    hidden: float = 0.2
    """For the effect of an arrow key while the row with the cursor is not visible, so that it may well show none."""
    probe_up: float = 2.5
    """As ``effect``, where only Up can test it, which the prompt box takes too."""
    stuck: float = 15.0
    """For anything at all to happen after a key; on a busy machine a client was seen to need more than 5 s."""
    quiet: float = 0.1
    """For the effect of a key to show that a person pressed just before all keys but ours were kept out."""
    hold: float = 5.0
    """How long other keys are kept out at most, should this process be killed."""
    stale: float = 0.5
    """How old a look may be that decides a key; it is older only where this process stood still in between."""
    absent: float = 5.0
    """For the dialog to appear, while something else is on the screen."""
    closing: float = 15.0
    """For the client to show, or the hook to tell, that it took the answer after the dialog has closed."""


_ARROWS = frozenset(["Up", "Down"])
_CLEARING = frozenset(["C-e", "C-u", "BSpace"])
_INVISIBLE = frozenset(["C-e", "Home", "End"])
_STEPS = 60
_STEPS_PER_QUESTION = 80


class KeysChannel:
    """The answer channel that types into the terminal."""

    name = "keys"

    def __init__(
        self,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``clock`` and ``sleep`` are replaced in tests; ``clock`` is compared with the request's deadline."""
        self._pace = pace or Pace()
        self._clock = clock
        self._sleep = sleep

    def deliver(self, request: AnswerRequest) -> Delivery:
        """Type the answer into the request's pane. See :class:`hookrouter.answering.AnswerChannel`."""
        address, terminal, planner = request.address, request.terminal, request.planner
        if address is None or terminal is None:
            return Delivery(DeliveryOutcome.UNAVAILABLE, "the session is in no terminal that a backend knows")
        if planner is None:
            return Delivery(DeliveryOutcome.UNAVAILABLE, "there is no keystroke planner")
        if _declines_with_a_note(request):
            shown = ".".join(map(str, request.client_version or ()))
            return Delivery(DeliveryOutcome.REFUSED, f"notes cannot be entered safely on client {shown}")
        typist = _Typist(request, address, terminal, planner, self._pace, self._clock, self._sleep)
        try:
            return typist.run()
        except TerminalError as error:
            return typist.end(DeliveryOutcome.REFUSED, str(error))
        finally:
            if typist.holder is not None:
                typist.holder.release(address)


def _declines_with_a_note(request: AnswerRequest) -> bool:
    """Whether this client would decline the form when the notes field is left."""
    version = request.client_version
    notes = any(isinstance(decision, Select) and decision.notes is not None for decision in request.decisions)
    return notes and version is not None and version < grammar.NOTES_ESCAPE_RETURNS


class Drawn(NamedTuple):
    """What is on screen for a planner that does not read the dialog: just that, and no key is pressed to test it."""

    lines: tuple[str, ...]


Seen = DialogState | Drawn


class _Pending(NamedTuple):
    """A step whose effect does not show yet."""

    step: Press | Paste
    state: Seen
    since: float
    probe: str | None
    """The arrow key that was pressed to find out whether the step was lost."""


class _Typist:
    """One delivery."""

    def __init__(
        self,
        request: AnswerRequest,
        address: TerminalAddress,
        terminal: TerminalBackend,
        planner: KeystrokePlanner,
        pace: Pace,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self.request = request
        self.address = address
        self.terminal = terminal
        self.planner = planner
        self.reads_dialog = isinstance(planner, GrammarPlanner)
        self.pace = pace
        self.clock = clock
        self.sleep = sleep
        self.taken: list[Taken] = []
        self.done: list[str] = []
        self.pending: _Pending | None = None
        self.previous: Seen | None = None
        self.same_since = 0.0
        self.shown_since: float | None = None
        self.waiting_since: float | None = None
        self.chatting = False
        self.holder = terminal if isinstance(terminal, HoldingTerminal) else None
        self.held_since: float | None = None
        self.hold_until = 0.0
        self.calm = 0.0
        """How long the screen must stay as it is before the next key, because a probe may still be on its way."""
        self.calm_since: float | None = None
        self.unproven = False
        """Whether an arrow key was pressed whose effect could not be seen."""
        self.budget = _STEPS + _STEPS_PER_QUESTION * len(request.form.questions)

    def end(self, outcome: str, reason: str) -> Delivery:
        return Delivery(outcome, reason, tuple(self.done))

    def run(self) -> Delivery:
        while True:
            finished = self.look()
            if finished is not None:
                return finished
            if self.clock() >= self.request.deadline:
                return self.end(DeliveryOutcome.REFUSED, "the time was up before the answer was entered")
            self.sleep(self.pace.poll)

    def look(self) -> Delivery | None:
        """Look once and act at most once; return how it ended, or None to go on."""
        if reason := self.request.stopped():
            return self.end(DeliveryOutcome.REFUSED, reason)
        screen = self.terminal.capture(self.address)
        state: Seen = read(screen, self.request.form) if self.reads_dialog else Drawn(screen.lines)
        now = self.clock()
        if state != self.previous:
            self.same_since = now - screen.unchanged
        settled = state == self.previous or screen.unchanged >= self.pace.settle
        self.previous = state
        if self.reads_dialog:
            self.note_shown(screen, now, shown=isinstance(state, (Page, Tail, Review)))
        # Chat declines the form, and its document may be swept before the chat's text is sent.
        if not self.chatting and not self.request.still_open():
            return self.closed(screen)
        if self.held_since is not None and not self.is_still_held(now):
            if not self.reads_dialog or any(map(_is_about_text, self.taken)):
                return self.end(DeliveryOutcome.REFUSED, "it took so long that other keys may have come in between")
            # Whatever they did will be seen; only blanks in a text, or where one was cleared, might not.
            self.held_since = now
        if self.pending is not None:
            if self.pending.probe is None and _is_same_page(self.pending, state, self.request.form):
                # Some other key showed its effect, and the one that leaves this page may still be on its way.
                self.pending = self.pending._replace(state=state)
            if state == self.pending.state:
                return self.unchanged(self.pending, state, now)
            if self.pending.probe is not None:
                self.calm = max(self.pace.settle, now - self.pending.since)
            self.pending = None
        if self.unproven and not (isinstance(state, Page) and state.cursor is None):
            # The effects of arrow keys that were not waited for come one by one, as far apart as the keys.
            self.calm = self.pace.hidden + self.pace.settle
            self.unproven = False
        if self.calm and not self.is_calm(now, changed=not settled):
            return None
        step = self.planner.next_step(screen, self.request.form, self.request.decisions, self.taken)
        if isinstance(step, Stop):
            return self.end(DeliveryOutcome.DELIVERED if step.delivered else DeliveryOutcome.REFUSED, step.why)
        if not self.reads_dialog and not self.taken:
            self.note_shown(screen, now, shown=not isinstance(step, Wait))
        if isinstance(step, Wait):
            return self.wait(step, now)
        self.waiting_since = None
        # Asked first, so that the hold's time and the dialog's own pass at once.
        others_are_out = self.others_are_out(step, state, now)
        if not others_are_out or not self.may_act(step, settled=settled, now=now):
            return None
        if self.clock() - now > self.pace.stale:
            return None
        if len(self.taken) >= self.budget:
            return self.end(DeliveryOutcome.REFUSED, f"the dialog is not answered after {len(self.taken)} keys")
        self.act(step, screen, state, now)
        return None

    def note_shown(self, screen: Screen, now: float, *, shown: bool) -> None:
        if not shown:
            self.shown_since = None
        elif self.shown_since is None:
            self.shown_since = now - screen.unchanged

    def others_are_out(self, step: Press | Paste, state: Seen, now: float) -> bool:
        """Whether nobody else's key can come between this look and this step, as far as that matters and can be had."""
        if self.holder is None:
            # All that can be had here: no key of theirs has shown an effect for as long as effects are late.
            return _only_moves(step, state) or now - self.same_since >= self.pace.settle
        if self.held_since is None:
            self.holder.hold(self.address, self.pace.hold)
            self.held_since = now
            self.hold_until = now + self.pace.hold
        return now - self.held_since >= self.pace.quiet

    def is_still_held(self, now: float) -> bool:
        if self.holder is None or self.hold_until - now > self.pace.hold * 3 / 4:
            return True
        self.hold_until = now + self.pace.hold
        return self.holder.hold(self.address, self.pace.hold)

    def is_calm(self, now: float, *, changed: bool) -> bool:
        """Whether every key that was pressed has had as long to show its effect as the slowest one took."""
        if changed or self.calm_since is None:
            self.calm_since = now
        if now - self.calm_since < self.calm:
            return False
        self.calm, self.calm_since = 0.0, None
        return True

    def closed(self, screen: Screen) -> Delivery:
        """Decide what it means that the question is not open any more."""
        if self.taken:
            step = self.planner.next_step(screen, self.request.form, self.request.decisions, self.taken)
            if isinstance(step, Stop) and step.delivered:
                return self.end(DeliveryOutcome.DELIVERED, step.why)
            if isinstance(step, Stop) and isinstance(read(screen, self.request.form), Prompt):
                return self.end(DeliveryOutcome.REFUSED, step.why)
            last = self.taken[-1].step
            state = read(self.taken[-1].screen, self.request.form)
            if isinstance(last, Press) and _submits(last.key, state, self.request.form):
                return self.end(DeliveryOutcome.DELIVERED, "the client took the answer")
        return self.end(DeliveryOutcome.REFUSED, "the question was answered or closed by somebody else")

    def wait(self, step: Wait, now: float) -> Delivery | None:
        if self.waiting_since is None:
            self.waiting_since = now
        patience = self.pace.closing if self.taken else self.pace.absent
        if now - self.waiting_since < patience:
            return None
        return self.end(DeliveryOutcome.REFUSED, step.why)

    def may_act(self, step: Press | Paste, *, settled: bool, now: float) -> bool:
        if isinstance(step, Press) and step.key in _ARROWS:
            return True
        # A half-drawn screen must not decide about a key that changes more than the cursor.
        return settled and (self.shown_since is None or now - self.shown_since >= self.pace.settle)

    def act(self, step: Press | Paste, screen: Screen, state: Seen, now: float) -> None:
        if isinstance(step, Paste):
            self.terminal.paste(self.address, step.text)
            self.done.append(f"paste {len(step.text)} characters: {step.why}")
        else:
            self.terminal.press(self.address, step.key)
            self.done.append(f"{step.key}: {step.why}")
        self.taken.append(Taken(step, screen))
        if isinstance(state, Page) and state.at(RowKind.CHAT) and step[0] == "Enter":
            self.chatting = True
        if isinstance(step, Press) and (step.key in _INVISIBLE or _ticks_unseen(step.key, state, self.request.form)):
            self.sleep(self.pace.invisible)
        else:
            self.pending = _Pending(step, state, now, None)

    def unchanged(self, pending: _Pending, state: Seen, now: float) -> Delivery | None:
        """Deal with a step that shows no effect yet."""
        hidden = isinstance(state, Page) and state.cursor is None
        if hidden and pending.step[0] in _ARROWS and now - pending.since >= self.pace.hidden:
            # From one hidden row to the next: nothing will show, and input is handled in order.
            self.pending = None
            self.unproven = True
            return None
        if now - pending.since >= self.pace.stuck:
            what = "the pasted text" if isinstance(pending.step, Paste) else f"the key {pending.step.key}"
            return self.end(DeliveryOutcome.REFUSED, f"the client does not react to {what}")
        probe = _probe(pending.step, state)
        # In the prompt box of a dialog that has closed meanwhile, Down does nothing, but Up brings back an old prompt.
        patience = self.pace.effect if probe == "Down" else self.pace.probe_up
        if pending.probe is None and probe is not None and now - pending.since >= patience:
            self.terminal.press(self.address, probe)
            self.done.append(f"{probe}: see whether {_name(pending.step)} was lost")
            self.pending = pending._replace(probe=probe)
        return None


def _submits(pressed: str, state: Seen, form: AskUserQuestionInput) -> bool:
    """Whether this key on this screen answers the whole form."""
    if isinstance(state, Review):
        return pressed == "Enter" and state.on_submit
    alone = len(form.questions) == 1 and not form.questions[0].multi_select
    if pressed.isdigit():
        return alone and isinstance(state, Page)
    return alone and pressed == "Enter" and isinstance(state, (Page, Tail))


def _is_same_page(pending: _Pending, state: Seen, form: AskUserQuestionInput) -> bool:
    """Whether ``state`` is the page that the pending key should have left."""
    before, pressed = pending.state, pending.step[0]
    if isinstance(before, Review):
        return isinstance(state, Review) and pressed in ("Enter", "Left", "BTab")
    if not isinstance(before, (Page, Tail)) or not isinstance(state, (Page, Tail)) or isinstance(pending.step, Paste):
        return False
    if isinstance(before, Page) and isinstance(state, Page) and before.question != state.question:
        return False
    if isinstance(before, Tail) and isinstance(state, Page):
        # What filled the pane is still in its page's row for typed text.
        typed = state.row(RowKind.TYPE)
        if typed is None or not typed.text:
            return False
    if pressed in ("Tab", "BTab"):
        return True
    if isinstance(before, Tail):
        return pressed == "Enter" and (not before.submit or before.cursor == RowKind.SUBMIT)
    multi = bool(form.questions[before.question].multi_select)
    if pressed.isdigit():
        return not multi and not before.preview
    kind = RowKind.OPTION if before.cursor is None else before.rows[before.cursor].kind
    return pressed == "Enter" and (kind in (RowKind.SUBMIT, RowKind.CHAT) or not multi)


def _is_about_text(taken: Taken) -> bool:
    return isinstance(taken.step, Paste) or taken.step.key in _CLEARING


def _only_moves(step: Press | Paste, state: Seen) -> bool:
    """Whether this step does no harm wherever a person's last key has led, because it only moves the cursor."""
    return isinstance(step, Press) and step.key in _ARROWS and not isinstance(state, Drawn)


def _ticks_unseen(pressed: str, state: Seen, form: AskUserQuestionInput) -> bool:
    """Whether this is the digit that ticks an option above the visible part."""
    return (
        pressed.isdigit()
        and isinstance(state, Page)
        and state.cursor is None
        and bool(form.questions[state.question].multi_select)
    )


def _name(step: Press | Paste) -> str:
    return step.key if isinstance(step, Press) else "the paste"


def _probe(step: Press | Paste, state: Seen) -> str | None:
    """Return an arrow key that certainly moves the cursor on this screen, or None where there is none.

    The key may reach the prompt box instead, if the dialog closes late: Down does nothing there, but Up brings back an
    old prompt, so Up is pressed only where the dialog cannot have closed.
    """
    if isinstance(step, Paste) or isinstance(state, (Prompt, OtherDialog, Unknown, Drawn)):
        return None
    if isinstance(state, Review):
        return "Down" if state.on_submit else None
    if isinstance(state, Tail) or state.cursor is None:
        return "Down"
    if state.notes is not None and state.notes.focused:
        return None
    if state.rows[state.cursor].kind not in (RowKind.CHAT, RowKind.SKIP):
        return "Down"
    return "Up" if step.key in _ARROWS else None
