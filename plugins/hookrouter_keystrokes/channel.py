"""Brings an answer to Claude Code through the keyboard: the answer channel named ``keys``.

Look, act, look: read the screen, let the planner decide one key, press it, and read again until its effect shows. The
pace is set by the screen. What the channel adds to the planner is time:

* the dialog is drawn up to half a second after the hook has ended, so its absence is not final at once;
* from 2.1.318 on the client ignores Enter and digits for the first 150 ms after the dialog has become visible;
* between a look and a key a person can press one: after a Tab of theirs a digit or Enter that was meant for a page can
  submit or decline the form on its review screen, and after their Escape an Up brings an old prompt back. So before the
  first key all others are kept out, if the terminal can (:mod:`hookrouter_keystrokes.hold`);
* a key whose effect does not show may be lost or only late. It is never just repeated
  (:mod:`hookrouter_keystrokes.reaction`);
* the dialog that opens next may read like the one before. So whatever else the client may be asking is looked up again
  before each key, and none is pressed while the screen could show that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import (
    EVERY_KIND,
    AnswerChannel,
    AnswerOutcome,
    AnswerStatus,
    Done,
    Effect,
    GiveUp,
    Paste,
    Press,
    Taken,
    Wait,
)
from hookrouter.util.errors import HookrouterError
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.hold import Hold
from hookrouter_keystrokes.reaction import ARROWS, Reaction
from hookrouter_keystrokes.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.interfaces import AnswerRequest, AskedDialog, Beside, KeystrokePlanner, Step, View
    from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend

__all__ = ["KeysChannel"]

_EDITING = frozenset(["C-e", "C-u", "BSpace"])
"""Keys that change a text; what another key did to it in between may not show."""
_ALIKE = (
    "another question that is open reads like what is on the screen, so that nothing tells which of them would be "
    "answered; a person can answer one at the terminal"
)
_STEPS = 60
_STEPS_PER_QUESTION = 80


class KeysChannel(AnswerChannel):
    """The answer channel that types into the terminal."""

    name = "keys"
    kinds = (EVERY_KIND,)

    def __init__(self, timing: Timing | None = None) -> None:
        """``timing`` is replaced in tests."""
        self._timing = timing or Timing()

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        """Type the answer into the request's pane."""
        address, terminal, planner = request.address, request.terminal, request.planner
        if address is None or terminal is None:
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, "the session is in no terminal that a backend knows")
        if planner is None:
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, "there is no keystroke planner")
        if _declines_with_a_note(request):
            shown = ".".join(map(str, request.client_version or ()))
            return AnswerOutcome(AnswerStatus.REFUSED, f"notes cannot be entered safely on client {shown}")
        script = _script(request, planner)
        if isinstance(script, str):
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, script)
        typist = _Typist(request, address, terminal, script, self._timing)
        if reason := typist.hold.elsewhere():
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, reason)
        try:
            return typist.run()
        except HookrouterError as error:
            # The terminal, or what else the client asks, which could not be looked up.
            return typist.end(AnswerStatus.REFUSED, str(error))
        finally:
            typist.hold.release()


class _Script(Protocol):
    """A planner with what it is to enter."""

    def read(self, screen: Screen) -> View: ...

    def next_step(self, view: View, taken: Sequence[Taken]) -> Step: ...

    def mistakable(self, view: View, taken: Sequence[Taken], beside: Beside) -> str:
        """Return why the screen may show another open dialog; empty if it cannot."""


class _FormScript:
    """The answers to a form."""

    def __init__(self, planner: KeystrokePlanner, request: AnswerRequest) -> None:
        self._planner = planner
        self._request = request

    def read(self, screen: Screen) -> View:
        return self._planner.read(screen, self._request.form)

    def next_step(self, view: View, taken: Sequence[Taken]) -> Step:
        return self._planner.next_step(view, self._request.form, self._request.decisions, taken)

    def mistakable(self, view: View, taken: Sequence[Taken], beside: Beside) -> str:  # noqa: ARG002 - the screen tells
        for form in beside.forms:
            other = self._planner.read(view.screen, form)
            if other.shown is not False if other.may_show is None else other.may_show:
                return _ALIKE
        return ""


class _DialogScript:
    """The decision about another dialog."""

    def __init__(self, planner: KeystrokePlanner, asked: AskedDialog) -> None:
        self._planner = planner
        self._asked = asked

    def read(self, screen: Screen) -> View:
        return self._planner.read_dialog(screen, self._asked)

    def next_step(self, view: View, taken: Sequence[Taken]) -> Step:
        return self._planner.next_dialog_step(view, self._asked, taken)

    def mistakable(self, view: View, taken: Sequence[Taken], beside: Beside) -> str:
        asked = self._asked._replace(others=(*self._asked.others, *beside.requests))
        step = self._planner.next_dialog_step(view, asked, taken)
        return step.why if isinstance(step, GiveUp) else ""


def _script(request: AnswerRequest, planner: KeystrokePlanner) -> _Script | str:
    """Return what is to be entered, or why this planner cannot enter it."""
    if request.kind == "question":
        return _FormScript(planner, request)
    if request.dialog is None:
        return f"no keys can enter it on a dialog of the kind {request.kind}"
    if request.kind not in planner.kinds:
        return f"the planner {planner.name} knows no dialog of the kind {request.kind}"
    return _DialogScript(planner, request.dialog)


def _declines_with_a_note(request: AnswerRequest) -> bool:
    """Whether this client would decline the form when the notes field is left."""
    version = request.client_version
    notes = any(isinstance(decision, Select) and decision.notes is not None for decision in request.decisions)
    return notes and version is not None and version < grammar.NOTES_ESCAPE_RETURNS


class _Watch:
    """The looks at the screen: what is on it, and since when."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._view: View | None = None
        self.same_since = 0.0
        """Since when the planner's state has been the same."""
        self.shown_since: float | None = None
        """Since when the dialog has been visible; None while it is not, or that is not known."""
        self.is_stable = False
        """Whether the state is the same as at the look before, so that it is not a half-drawn screen's."""

    def see(self, view: View, now: float) -> None:
        """Take note of a look."""
        screen = view.screen
        is_same = self._view is not None and view.state == self._view.state
        if not is_same:
            self.same_since = now - screen.unchanged
        self.is_stable = is_same or screen.unchanged >= self._timing.stable_seconds
        self._view = view
        if view.shown is not None:
            self.note_shown(view, now, shown=view.shown)

    def note_shown(self, view: View, now: float, *, shown: bool) -> None:
        """Take note of whether the dialog is on screen."""
        if not shown:
            self.shown_since = None
        elif self.shown_since is None:
            self.shown_since = now - view.screen.unchanged

    def is_guard_over(self, now: float) -> bool:
        """Whether the dialog has been visible for so long that the client takes every key."""
        return self.shown_since is None or now - self.shown_since >= self._timing.stable_seconds


class _Typist:
    """One delivery."""

    def __init__(
        self,
        request: AnswerRequest,
        address: TerminalAddress,
        terminal: TerminalBackend,
        script: _Script,
        timing: Timing,
    ) -> None:
        self._request = request
        self._address = address
        self._terminal = terminal
        self._script = script
        self._timing = timing
        self.hold = Hold(terminal, address, timing, request.client_pid)
        self._watch = _Watch(timing)
        self._reaction = Reaction(timing)
        self._taken: list[Taken] = []
        self._done: list[str] = []
        self._view: View | None = None
        self._waiting_since: float | None = None
        self._away_since: float | None = None
        self._budget = _STEPS + _STEPS_PER_QUESTION * len(request.form.questions)

    def end(self, outcome: str, reason: str) -> AnswerOutcome:
        """Return how the delivery ended, with what was done."""
        return AnswerOutcome(outcome, reason, tuple(self._done))

    def _refuse(self, reason: str) -> AnswerOutcome:
        return self.end(AnswerStatus.REFUSED, reason)

    def run(self) -> AnswerOutcome:
        """Look and act until it has ended."""
        self.hold.guard()
        while True:
            finished = self._turn()
            if finished is not None:
                return finished
            if self._timing.clock() >= self._request.deadline:
                return self._refuse("the time was up before the answer was entered")
            self._timing.sleep(self._timing.poll_seconds)

    def _turn(self) -> AnswerOutcome | None:
        """Look once and act at most once; return how it ended, or None to go on."""
        if reason := self._request.stopped():
            return self._refuse(reason)
        if reason := self.hold.elsewhere():
            return self._wait_for_client(reason)
        self._away_since = None
        view = self._look()
        now = self._timing.clock()
        self._watch.see(view, now)
        # Chat declines the form, and its document may be swept before the chat's text is sent.
        if not self._is_chatting() and not self._request.still_open():
            return self._closed(view)
        # What keys did that came in between will be seen; only blanks in a text, or if one was cleared, might not.
        if self.hold.has_gap(now) and (view.shown is None or any(map(_is_about_text, self._taken))):
            return self._refuse("it took so long that other keys may have come in between")
        outstanding = self._reaction.follow(view, now, changed=not self._watch.is_stable)
        if isinstance(outstanding, GiveUp):
            return self._refuse(outstanding.why)
        if isinstance(outstanding, Press):
            return self._test(outstanding, view, now)
        return self._decide(view, now) if outstanding is None else None

    def _wait_for_client(self, reason: str) -> AnswerOutcome | None:
        """Press nothing while the client is away; it may be back in a moment, and half of an answer helps nobody."""
        now = self._timing.clock()
        if self._away_since is None:
            self._away_since = now
        is_long = now - self._away_since >= self._timing.stuck_seconds
        return self._refuse(f"the client does not react: {reason}") if is_long else None

    def _look(self) -> View:
        screen = self._terminal.capture(self._address)
        view = self._view
        if view is None or view.screen[:3] != screen[:3]:
            view = self._script.read(screen)
        self._view = view._replace(screen=screen)
        return self._view

    def _decide(self, view: View, now: float) -> AnswerOutcome | None:
        """Let the planner decide on a screen on which nothing is outstanding, and act if it is safe to."""
        step = self._script.next_step(view, self._taken)
        if isinstance(step, Done):
            return self.end(AnswerStatus.DELIVERED, step.why)
        if isinstance(step, GiveUp):
            return self._refuse(step.why)
        if view.shown is None and not self._taken:
            self._watch.note_shown(view, now, shown=not isinstance(step, Wait))
        if isinstance(step, Wait):
            return self._wait(step, now)
        self._waiting_since = None
        # Asked first, so that the hold's time and the dialog's own pass at once.
        others_are_out = self._others_are_out(step, view, now)
        if not others_are_out or not self._may_act(step, now) or self._is_stale(now):
            return None
        if len(self._taken) >= self._budget:
            return self._refuse(f"the dialog is not answered after {len(self._taken)} keys")
        # Asked after the look: whatever has drawn a dialog by then had begun before.
        if reason := self._script.mistakable(view, self._taken, self._request.beside()):
            return self._refuse(reason)
        # That question may take long where the documents are another machine's: then it is looked again.
        if not self._is_stale(now):
            self._act(step, view, now)
        return None

    def _test(self, arrow: Press, view: View, now: float) -> AnswerOutcome | None:
        """Press the arrow that tells whether a key was lost: it must not move another dialog's cursor either."""
        if reason := self._script.mistakable(view, self._taken, self._request.beside()):
            return self._refuse(reason)
        # If the key shows its effect by now, it needs no test.
        if not self._is_stale(now) or self._look().state == view.state:
            self._press(arrow)
        return None

    def _is_stale(self, now: float) -> bool:
        """Whether a look that was taken at this time is too old to decide a key."""
        return self._timing.clock() - now > self._timing.stale_seconds

    def _wait(self, step: Wait, now: float) -> AnswerOutcome | None:
        if self._waiting_since is None:
            self._waiting_since = now
        patience = self._timing.closing_seconds if self._taken else self._timing.absent_seconds
        return None if now - self._waiting_since < patience else self._refuse(step.why)

    def _others_are_out(self, step: Press | Paste, view: View, now: float) -> bool:
        """Whether nobody else's key can come between this look and this step, as far as it matters and is possible."""
        if self.hold.is_possible:
            return self.hold.is_quiet(now)
        # All that is possible here: no key of theirs has shown an effect for as long as effects are late.
        return _only_moves(step, view) or now - self._watch.same_since >= self._timing.stable_seconds

    def _may_act(self, step: Press | Paste, now: float) -> bool:
        if isinstance(step, Press) and step.key in ARROWS:
            return True
        # A half-drawn screen must not decide about a key that changes more than the cursor.
        return self._watch.is_stable and self._watch.is_guard_over(now)

    def _act(self, step: Press | Paste, view: View, now: float) -> None:
        if isinstance(step, Paste):
            self._terminal.paste(self._address, step.text)
            self._done.append(f"paste {len(step.text)} characters: {step.why}")
        else:
            self._press(step)
        self._taken.append(Taken(step, view))
        if isinstance(step, Press) and step.effect == Effect.INVISIBLE:
            self._timing.sleep(self._timing.invisible_seconds)
        else:
            self._reaction.expect(step, view, now)

    def _press(self, step: Press) -> None:
        self._terminal.press(self._address, step.key)
        self._done.append(f"{step.key}: {step.why}")

    def _is_chatting(self) -> bool:
        return any(_has_effect(each, Effect.DECLINES) for each in self._taken)

    def _closed(self, view: View) -> AnswerOutcome:
        """Decide what it means that the question is not open any more."""
        if self._taken:
            step = self._script.next_step(view, self._taken)
            if isinstance(step, Done):
                return self.end(AnswerStatus.DELIVERED, step.why)
            if isinstance(step, GiveUp) and view.shown is False:
                return self._refuse(step.why)
            if _has_effect(self._taken[-1], Effect.SUBMITS):
                return self.end(AnswerStatus.DELIVERED, "the client took the answer")
        return self._refuse("the question was answered or closed by somebody else")


def _has_effect(taken: Taken, effect: str) -> bool:
    return isinstance(taken.step, Press) and taken.step.effect == effect


def _is_about_text(taken: Taken) -> bool:
    return isinstance(taken.step, Paste) or taken.step.key in _EDITING


def _only_moves(step: Press | Paste, view: View) -> bool:
    """Whether this step does no harm wherever a person's last key has led, because it only moves the cursor."""
    return isinstance(step, Press) and step.key in ARROWS and view.shown is not None
