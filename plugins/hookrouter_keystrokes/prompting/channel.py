"""Types a queue's item into the client's prompt box: the prompt channel named ``keys``.

Look, act, look. The text goes in only if the session is idle and its box is there and empty, in pieces that the client
takes as they are; each piece is seen to stand there before the next. Then Enter is pressed, once, and the box is seen
to have taken it. Before each act that cannot be taken back its name is saved, so that an attempt that follows a killed
one goes by what it sees: a whole text is submitted, a part of it is taken out again, exactly, and typed anew.

* Keys of others are kept out meanwhile, if the terminal can (:mod:`hookrouter_keystrokes.hold`).
* Text goes in by pastes alone: they are taken literally also in vim's normal mode (2.1.150 and newer), and a newline in
  one is a newline.
* An Enter that shows no effect may be lost or only late. Input is taken in order: a character that shows behind the
  text proves that the Enter before it did nothing. Only then, with everything taken out, is it done anew.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptStatus
from hookrouter.queue.client_commands import refused_command
from hookrouter.queue.items import COMMAND, PROMPT, SHELL
from hookrouter.storage.interface import StoreError
from hookrouter.terminals import TerminalError
from hookrouter_keystrokes.hold import Hold
from hookrouter_keystrokes.prompting.area import AreaKind
from hookrouter_keystrokes.prompting.box import Box, BoxInUse
from hookrouter_keystrokes.prompting.comparing import is_part, shows, without_chips
from hookrouter_keystrokes.prompting.facts import ENDS
from hookrouter_keystrokes.prompting.left import Left
from hookrouter_keystrokes.prompting.models import asks_for_switch, wanted_by
from hookrouter_keystrokes.prompting.pieces import pieces, untypable
from hookrouter_keystrokes.prompting.situation import Entry, Phase, Situation, entry_of, situation
from hookrouter_keystrokes.settings import KeystrokesSettings
from hookrouter_keystrokes.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.queue.channels import PromptRequest
    from hookrouter_keystrokes.prompting.area import PromptArea

__all__ = ["KeysPromptChannel"]

_STASH = "stash"
_AWAY = "stashed"
"""Behind a phase, once somebody's draft was put away."""
_MARK = "."
"""What is pasted behind a text to see whether the Enter before it was lost."""
_TRIES = 3
"""How often an item is typed at most in one attempt."""
_AROUND = 6
"""Columns of a pane that a line in the box does not have, with some to spare."""
_REMOVALS = 2_000
"""Keys that take out a text at most."""


class KeysPromptChannel(PromptChannel):
    """The prompt channel that types into the terminal."""

    name = "keys"

    def __init__(self, timing: Timing | None = None) -> None:
        """``timing`` is replaced in tests."""
        self._timing = timing or Timing()

    def refusal(self, request: PromptRequest) -> str:
        """Say why keys cannot carry this item."""
        if request.address is None or request.terminal is None:
            return "the session is in no terminal that a backend knows"
        item = request.item
        if item.kind == COMMAND and (why := refused_command(item.text, request.client_version)):
            return why
        if item.kind == SHELL and item.text.startswith("!!"):
            return "the client takes a second '!' for the key of its shell mode, too"
        if item.kind == PROMPT and item.text in ENDS:
            return f"typed alone, {item.text!r} ends the client"
        why = untypable(item.text)
        return f"the text cannot be typed as it is: {why}" if why else ""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Type the item and press Enter."""
        address, terminal = request.address, request.terminal
        why = self.refusal(request)
        if why or address is None or terminal is None:
            return PromptOutcome(PromptStatus.REFUSED, why)
        hold = Hold(terminal, address, self._timing, request.client_pid)
        box = Box(terminal, address, hold, self._timing)
        typist = _Typist(request, box, self._timing)
        try:
            return typist.run()
        except _Ended as ended:
            return typist.outcome(ended)
        except BoxInUse as error:
            return typist.outcome(_not_now(str(error), is_person=True))
        except (TerminalError, StoreError) as error:
            is_try = isinstance(error, TerminalError)
            return typist.outcome(_Ended(typist.status_of_a_fault, str(error), is_try=is_try))
        finally:
            hold.release()


class _Ended(Exception):
    """The attempt is over. The arguments are fields of PromptOutcome."""

    def __init__(self, status: str, reason: str, *, is_person: bool = False, is_try: bool = False) -> None:
        super().__init__(reason)
        self.status, self.reason, self.is_person = status, reason, is_person
        self.is_try = is_try and status == PromptStatus.NOT_NOW


def _may_stash(request: PromptRequest) -> bool:
    """Whether the settings allow to put somebody's draft away."""
    try:
        drafts: str = request.settings(KeystrokesSettings).drafts
    except LookupError:
        return False
    return drafts == _STASH


def _not_now(reason: str, *, is_person: bool = False, is_try: bool = False) -> _Ended:
    return _Ended(PromptStatus.NOT_NOW, reason, is_person=is_person, is_try=is_try)


class _Typist:
    """One attempt."""

    def __init__(self, request: PromptRequest, box: Box, timing: Timing) -> None:
        self._request = request
        self._box = box
        self._timing = timing
        self._new_lines = 0
        """How often Enter has made a new line; an old client may take one for a part of the paste before it."""
        self._entry: Entry = entry_of(request.item)
        self._phase, _, away = request.item.phase.partition(" ")
        self._is_draft_away = away == _AWAY
        self._draft: tuple[str, ...] = ()
        """The rows of the draft that this attempt has put away."""
        self._left = Left(request)

    @property
    def status_of_a_fault(self) -> str:
        """What an attempt ends as if the terminal or the store fails now."""
        acted = self._phase in (Phase.ENTERING, Phase.CONFIRMING)
        return PromptStatus.UNCERTAIN if acted else PromptStatus.NOT_NOW

    def outcome(self, ended: _Ended) -> PromptOutcome:
        """Return how the attempt ended, with what was done."""
        return PromptOutcome(ended.status, ended.reason, ended.is_person, tuple(self._box.steps), ended.is_try)

    def run(self) -> PromptOutcome:
        """Look and act until the item is submitted, or raise _Ended."""
        self._box.hold.guard()
        if self._phase in (Phase.ENTERING, Phase.CONFIRMING) and self._request.is_proven():
            return self._submitted("an event has proven it")
        for _ in range(_TRIES):
            if self._attempt():
                return self._after_enter()
        if self._new_lines == _TRIES:
            raise self._backed_out("Enter makes a new line in this client", status=PromptStatus.REFUSED)
        raise self._backed_out("Enter was lost each time", is_try=True)

    def _attempt(self) -> bool:
        """Bring the text into the box and press Enter; return whether it was taken. False: lost, and all taken out."""
        area = self._ready()
        found = situation(area, self._entry, self._phase)
        is_whole = found == Situation.OURS or (found == Situation.PART and area.is_cut)
        if self._phase == Phase.CONFIRMING or (self._phase == Phase.ENTERING and not is_whole):
            return self._resumed_after_enter(area)
        if found == Situation.DRAFT:
            left = self._left.entry()
            if left is not None and situation(area, left, Phase.TYPING) in (Situation.OURS, Situation.PART):
                self._box.keep_others_out()
                self._take_out("what an earlier attempt typed is in the prompt box", left)
            else:
                self._put_draft_away(area)
        self._box.keep_others_out()
        area = self._box.stable()
        found = situation(area, self._entry, self._phase)
        if found in (Situation.BUSY, Situation.CLOSED, Situation.DRAFT):
            raise self._waits(area, found)
        if self._phase == Phase.ENTERING:
            # An Enter of the killed attempt may still be on its way.
            return self._decided_by_mark()
        if found == Situation.PART:
            self._take_out()
        if found != Situation.OURS:
            self._type()
        return self._enter()

    # Looking

    def _ready(self) -> PromptArea:
        """Wait until the session is idle and its box is there; return the look. Raises _Ended if it does not come."""
        is_after_enter = self._phase in (Phase.ENTERING, Phase.CONFIRMING)
        since = 0.0
        last: PromptArea | None = None
        end = self._timing.clock() + self._timing.ready_seconds
        while True:
            area, now = self._box.look(), self._timing.clock()
            if area != last:
                since, last = now, area
            self._may_go_on(now)
            found = situation(area, self._entry, self._phase)
            is_free = found not in (Situation.BUSY, Situation.CLOSED) or asks_for_switch(self._request.item, area)
            if (is_free and now - since >= self._timing.poll_seconds) or (is_after_enter and now >= end):
                return area
            if now >= end:
                raise self._waits(area, found)
            self._timing.sleep(self._timing.poll_seconds)

    def _may_go_on(self, now: float) -> None:
        if why := self._request.stopped():
            raise self._backed_out(why)
        if why := self._box.hold.elsewhere():
            raise self._backed_out(why, is_try=True)
        if now >= self._request.deadline:
            raise self._backed_out("the time was up before it was submitted", is_try=True)

    def _waits(self, area: PromptArea, found: str) -> _Ended:
        """Say what the item has to wait for."""
        if found == Situation.BUSY:
            return _not_now("Claude works")
        if found == Situation.CLOSED:
            is_view, is_nothing = area.kind == AreaKind.VIEW, area.kind == AreaKind.NOTHING
            return _not_now(area.why, is_person=is_view, is_try=is_nothing)
        if self._phase == Phase.TYPING or self._left.entry() is not None:
            return _not_now("the text in the prompt box may in part be what an earlier attempt typed")
        if not area.rows:
            return _not_now("somebody has switched the prompt box to another mode", is_person=True)
        return _not_now("somebody's text is in the prompt box", is_person=True)

    # Acting

    def _save(self, phase: str) -> None:
        if phase != self._phase:
            self._request.save_phase(f"{phase} {_AWAY}" if phase and self._is_draft_away else phase)
            self._phase = phase

    def _put_draft_away(self, area: PromptArea) -> None:
        """Stash somebody's draft, if that is allowed and nobody types it now. Raises _Ended otherwise."""
        waits = self._waits(area, Situation.DRAFT)
        if not (_may_stash(self._request) and area.rows and area.is_prompt):
            raise waits
        if area.is_stashed:
            raise _not_now("somebody's text is in the prompt box, and another one was put away", is_person=True)
        end = self._timing.clock() + self._timing.draft_seconds
        while self._timing.clock() < end:
            self._timing.sleep(self._timing.poll_seconds)
            self._may_go_on(self._timing.clock())
            if self._box.look() != area:
                raise waits
        self._box.keep_others_out()
        if self._box.look() != area:
            raise waits
        self._save(Phase.STASHING)
        self._box.press("C-s", "put somebody's draft away")
        after = self._box.wait_for(lambda seen: seen.is_empty and seen.is_stashed, self._timing.stuck_seconds)
        if not (after.is_empty and after.is_stashed):
            raise _not_now("somebody's text could not be put away", is_person=True)
        self._is_draft_away, self._draft = True, area.rows

    def _give_draft_back(self) -> None:
        """Put the draft back that was put away, because nothing was submitted."""
        area = self._box.look()
        if area.is_empty and area.is_stashed:
            self._box.press("C-s", "put the draft back")
            self._box.wait_for(lambda seen: seen.rows, self._timing.effect_seconds)
        self._is_draft_away = False

    def _type(self) -> None:
        """Put the text into the empty box, and see that all of it stands there. Raises _Ended, with all taken out."""
        entry = self._entry
        self._save(Phase.TYPING)
        self._left.note(entry)
        self._box.is_alone = self._box.hold.is_possible
        self._may_go_on(self._timing.clock())
        if entry.mode:
            self._box.press(entry.mode, "enter the shell mode")
            area = self._box.wait_for(lambda seen: entry.fits(seen) and not seen.rows, self._timing.drawn_seconds)
            if not entry.fits(area):
                raise self._backed_out("the prompt box did not go into shell mode", is_try=True)
        columns, rows = max(self._box.size[0] - _AROUND, 20), max(2, self._box.size[1] // 3 - 2)
        typed = ""
        for piece in pieces(entry.text, columns, rows):
            self._may_go_on(self._timing.clock())
            before, typed = typed, typed + piece
            area = self._box.look()
            self._box.paste(piece, "the text" if piece == entry.text else f"the text, up to character {len(typed)}")
            self._see_typed(area, before, typed)
        if entry.is_bare_command:
            self._see_command()

    def _see_typed(self, last: PromptArea, before: str, typed: str) -> None:
        """Wait until exactly what was typed stands in the box; ``last`` is the look before."""
        last_expected = self._timing.clock()

        def is_there(area: PromptArea) -> bool:
            return (area.rows, area.above) != (last.rows, last.above) and self._holds(area, typed)

        def is_decided(area: PromptArea) -> bool:
            nonlocal last_expected
            if is_there(area):
                return True
            if self._holds(area, before):
                last_expected = self._timing.clock()
            # Anything else may be half drawn, or something that came in between: that stays.
            return self._timing.clock() - last_expected >= self._timing.drawn_seconds

        area = self._box.wait_for(is_decided, self._timing.stuck_seconds)
        if is_there(area):
            return
        if area.is_box and not self._entry.fits(area):
            raise self._backed_out(
                f"this client takes a text that begins so for something else: the box shows {area.glyph!r} before it",
                status=PromptStatus.REFUSED,
            )
        if area.is_busy:
            raise self._backed_out("Claude began to work before it was submitted")
        if not area.is_box:
            raise self._backed_out(area.why, is_try=area.kind == AreaKind.NOTHING)
        what = "the prompt box shows something else than what was typed"
        if area.is_empty:
            what = "what was pasted did not show (vim's normal mode of old clients takes no paste)"
            if self._box.is_alone:
                self._box.press("C-u", "take out what may be there and cannot be seen")
        raise self._backed_out(what, is_try=True)

    def _holds(self, area: PromptArea, text: str) -> bool:
        """Whether exactly this stands in the box of a client that does not work."""
        if area.is_busy or not self._entry.fits(area):
            return False
        return shows(area, text) if text else not area.rows

    def _see_command(self) -> None:
        """See that Enter runs exactly this command: it is the chosen one in the menu."""
        name = self._entry.text.split()[0]
        area = self._box.wait_for(lambda seen: _offers(seen.menu, name), self._timing.menu_seconds)
        if not _offers(area.menu, name):
            offered = f"its menu offers {area.menu} in its place" if area.menu else "its menu does not offer it"
            raise self._backed_out(f"the session knows no command {name}: {offered}", status=PromptStatus.REFUSED)

    def _backed_out(self, reason: str, *, status: str = PromptStatus.NOT_NOW, is_try: bool = False) -> _Ended:
        """Take out again what was typed, and say how it ended."""
        if self._phase in (Phase.ENTERING, Phase.CONFIRMING):
            return _Ended(PromptStatus.UNCERTAIN, reason)
        if self._phase == Phase.TYPING:
            self._take_out(reason)
        if self._is_draft_away:
            self._give_draft_back()
        self._save(Phase.NOTHING)
        return _Ended(status, reason, is_try=is_try)

    def _take_out(self, reason: str = "", entry: Entry | None = None) -> None:
        """Take a text of ours out of the box, row by row: this item's, or another ``entry``.

        Raises _Ended if something in the box may not be ours.
        """
        futile = 0
        for _ in range(_REMOVALS):
            area = self._box.stable()
            if area.is_empty:
                self._left.forget()
                return
            why = reason or "a part of the text is in the prompt box"
            if not area.is_box and not (area.kind == AreaKind.NOTHING and area.rows):
                raise _not_now(f"{why}; it is still there, under what is open now: {area.why}")
            typed = self._typed_in(area, entry or self._entry)
            if not self._box.is_alone and area.rows and not is_part(without_chips(area), typed):
                why = f"{why}; the box holds more than what was typed, so it was left as it is"
                raise _not_now(why, is_person=True, is_try=True)
            # Old clients need BSpace for an empty line; in vim's normal mode it only moves.
            keys = ("C-u", "BSpace") if area.rows[-1:] != ("",) and area.rows else ("BSpace", "C-u")
            for key in keys:
                self._box.press(key, "take out what was typed")
                changed = self._box.wait_for(_differs_from(area), self._timing.drawn_seconds) != area
                if changed:
                    break
            # What cannot be seen may be taken out without any effect that could be.
            futile = 0 if changed else futile + 1
            if futile > 2 * self._box.is_alone:
                break
        raise _not_now(f"{reason or 'the text'}; what was typed could not be taken out again", is_try=True)

    def _typed_in(self, area: PromptArea, entry: Entry) -> str:
        """Return what may stand in the box, without a first character that has led to the mode it is in."""
        typed = entry.text + _MARK
        return typed.removeprefix(area.glyph) if area.glyph and not entry.fits(area) else typed

    def _enter(self) -> bool:
        """Press Enter on the whole text; return whether it was taken."""
        entry = self._entry
        self._may_go_on(self._timing.clock())
        self._save(Phase.ENTERING)
        while True:
            seen_at = self._timing.clock()
            gap = self._box.has_gap(seen_at)
            area = self._box.look()
            if not gap and self._timing.clock() - seen_at <= self._timing.stale_seconds:
                break
        if not self._holds(area, entry.text):
            self._save(Phase.TYPING)
            raise self._backed_out("the prompt box changed before Enter", is_try=True)
        self._box.press("Enter", "submit it")
        after = self._box.wait_for(self._is_taken, self._timing.lost_seconds)
        if self._is_taken(after):
            return True
        if shows(after, f"{entry.text}\n"):
            self._new_lines += 1
            self._save(Phase.TYPING)
            self._take_out()
            return False
        return self._decided_by_mark()

    def _is_taken(self, area: PromptArea) -> bool:
        if self._request.is_proven():
            return True
        entry = self._entry
        if not area.is_box:
            return area.kind != AreaKind.NOTHING
        return not (entry.fits(area) and area.rows and is_part(area, f"{entry.text}\n")) or area.is_busy

    def _decided_by_mark(self) -> bool:
        """Find out whether an Enter was lost or is late; return whether it was taken. If it was lost, take all out."""
        text = self._entry.text
        if not self._box.look().is_box:
            raise _Ended(PromptStatus.UNCERTAIN, "Enter was pressed, and no prompt box is on the screen since")
        self._box.paste(_MARK, "see whether Enter was lost")

        def is_decided(area: PromptArea) -> bool:
            return area.is_box and (shows(area, text + _MARK) or shows(area, _MARK)) and not area.is_busy

        area = self._box.wait_for(is_decided, self._timing.stuck_seconds)
        if not is_decided(area):
            raise _Ended(PromptStatus.UNCERTAIN, "Enter was pressed, and the client shows no effect of it")
        if shows(area, _MARK) and not shows(area, text + _MARK):
            self._box.press("C-u", "take the mark out")
            self._box.wait_for(lambda seen: seen.is_empty, self._timing.stuck_seconds)
            return True
        self._save(Phase.TYPING)
        self._take_out()
        return False

    # After Enter

    def _resumed_after_enter(self, area: PromptArea) -> bool:
        """Decide what became of an Enter that a killed attempt may have pressed."""
        if self._phase == Phase.ENTERING and asks_for_switch(self._request.item, area):
            return True
        raise _Ended(PromptStatus.UNCERTAIN, "an attempt that was killed may have submitted it")

    def _after_enter(self) -> PromptOutcome:
        reason = "Enter was pressed, and the client took it"
        if wanted := wanted_by(self._request.item):
            reason = self._confirm(wanted) or reason
        if self._is_draft_away:
            reason = f"{reason}; somebody's draft was put away, {self._draft_seen_back()}"
        return self._submitted(reason)

    def _draft_seen_back(self) -> str:
        def is_back(area: PromptArea) -> bool:
            return area.rows == self._draft if self._draft else bool(area.rows)

        area = self._box.wait_for(is_back, self._timing.restored_seconds)
        return "and is back" if is_back(area) else "and was not seen to be back"

    def _confirm(self, wanted: str) -> str:
        """Confirm the dialog that the item opens, if it asks for just what is wanted; return what there is to say."""
        quiet_since: list[float] = []

        def is_decided(area: PromptArea) -> bool:
            if asks_for_switch(self._request.item, area):
                return True
            # Until it has anything to ask, it may show another dialog for a moment.
            if not area.is_box or area.is_busy:
                quiet_since.clear()
                return False
            quiet_since[:] = quiet_since[:1] or [self._timing.clock()]
            return self._request.is_proven() or self._timing.clock() - quiet_since[0] >= self._timing.quiet_seconds

        area = self._box.wait_for(is_decided, self._timing.dialog_seconds)
        if area.kind == AreaKind.DIALOG:
            self._box.keep_others_out()
            # The client ignores keys in the first moments of a dialog.
            self._timing.sleep(self._timing.stable_seconds)
            area = self._box.stable()
        if area.kind != AreaKind.DIALOG:
            return ""
        if not asks_for_switch(self._request.item, area):
            return f"the client took it, but its dialog is not certain to ask for {wanted}: it was left open"
        if self._request.withdrawn():
            return "the client took it; its dialog was left open, because the session is paused or held"
        self._save(Phase.CONFIRMING)
        self._box.press("Enter", f"confirm the switch to {wanted}")
        after = self._box.wait_for(
            lambda seen: not asks_for_switch(self._request.item, seen), self._timing.stuck_seconds
        )
        if asks_for_switch(self._request.item, after):
            raise _Ended(PromptStatus.UNCERTAIN, "the dialog of the switch did not close after Enter")
        return f"Enter was pressed, and the switch to {wanted} was confirmed"

    def _submitted(self, reason: str) -> PromptOutcome:
        # That it was submitted holds, whether this can be noted or not.
        with suppress(StoreError):
            self._left.forget()
        return self.outcome(_Ended(PromptStatus.SUBMITTED, reason))


def _differs_from(area: PromptArea) -> Callable[[PromptArea], bool]:
    return lambda seen: seen != area


def _offers(row: str, name: str) -> bool:
    """Whether a row of the menu is that of a command, by its name or another one: ``/usage (cost)``."""
    found, _, others = row.partition(" ")
    return name == found or name.removeprefix("/") in [each.strip() for each in others.strip("()").split(",")]
