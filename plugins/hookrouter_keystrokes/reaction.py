"""Whether the client has reacted to the last key: the part of the keys channel that is about time alone.

A key goes through these states, and only in the last one is the next key decided:

* waiting: its effect does not show yet. A key that leaves a page is waited for while the page is on screen, whatever
  else changes there.
* tested: its effect has not shown for so long that an arrow key was pressed. Input is taken in order, so a moved cursor
  proves that the key before was lost.
* calming: something has changed, but an earlier key may still be on its way; the screen must stay as it is for as long
  as the slowest effect took.
* ready: nothing is outstanding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering.interfaces import Effect, GiveUp, Paste, Press, Wait

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Step, View
    from hookrouter_keystrokes.timing import Timing

__all__ = ["ARROWS", "Reaction"]

ARROWS = frozenset(["Up", "Down"])
_LEAVING = (Effect.LEAVES, Effect.SUBMITS, Effect.DECLINES)


class _Pending(NamedTuple):
    """A step whose effect does not show yet."""

    step: Press | Paste
    view: View
    since: float
    tested: bool
    """Whether an arrow key was pressed to find out whether the step was lost."""


class Reaction:
    """Follows the effect of one key after the other. Times are those of the channel's clock."""

    def __init__(self, timing: Timing) -> None:
        """Nothing is outstanding yet."""
        self._timing = timing
        self._pending: _Pending | None = None
        self._calm_for = 0.0
        """How long the screen must stay as it is before the next key; 0 for no time."""
        self._calm_since: float | None = None
        self._unseen_arrows = False
        """Whether arrow keys were pressed whose effects could not be seen."""

    def expect(self, step: Press | Paste, view: View, now: float) -> None:
        """Take note that ``step`` was carried out on ``view``; not to be called for a step without a visible effect."""
        self._pending = _Pending(step, view, now, tested=False)

    def follow(self, view: View, now: float, *, changed: bool) -> Step | None:
        """Take note of a look, and return what to do.

        ``changed`` says whether the screen has changed only just now. Returns None if nothing is outstanding, else
        Wait, the arrow key that tests whether the last key was lost, or GiveUp if the client does not react at all.
        """
        if self._pending is not None:
            if not self._pending.tested and _is_same_page(self._pending, view):
                # Some other key showed its effect, and the one that leaves this page may still be on its way.
                self._pending = self._pending._replace(view=view)
            if view.state == self._pending.view.state:
                return self._unchanged(self._pending, view, now)
            if self._pending.tested:
                self._calm_for = max(self._timing.stable_seconds, now - self._pending.since)
            self._pending = None
        if self._unseen_arrows and not view.cursor_hidden:
            # The effects of arrow keys that were not waited for come one by one, as far apart as the keys.
            self._calm_for = self._timing.hidden_seconds + self._timing.stable_seconds
            self._unseen_arrows = False
        if self._calm_for and not self._is_calm(now, changed=changed):
            return Wait("an earlier key may still be on its way")
        return None

    def _is_calm(self, now: float, *, changed: bool) -> bool:
        if changed or self._calm_since is None:
            self._calm_since = now
        if now - self._calm_since < self._calm_for:
            return False
        self._calm_for, self._calm_since = 0.0, None
        return True

    def _unchanged(self, pending: _Pending, view: View, now: float) -> Step:
        """Deal with a step that shows no effect yet."""
        waited = now - pending.since
        is_arrow = isinstance(pending.step, Press) and pending.step.key in ARROWS
        if view.cursor_hidden and is_arrow and waited >= self._timing.hidden_seconds:
            # From one hidden row to the next: nothing will show, and input is handled in order.
            self._pending = None
            self._unseen_arrows = True
            return Wait("the cursor is not visible")
        name = "the pasted text" if isinstance(pending.step, Paste) else f"the key {pending.step.key}"
        if waited >= self._timing.stuck_seconds:
            return GiveUp(f"the client does not react to {name}")
        key = _test_key(pending.step, view, is_arrow=is_arrow)
        # In the prompt box of a dialog that has closed meanwhile, Down does nothing, but Up brings back an old prompt.
        patience = self._timing.effect_seconds if key == "Down" else self._timing.up_test_seconds
        if not key or pending.tested or waited < patience:
            return Wait(f"{name} shows no effect yet")
        self._pending = pending._replace(tested=True)
        lost = pending.step.key if isinstance(pending.step, Press) else "the paste"
        return Press(key, f"see whether {lost} was lost")


def _test_key(step: Press | Paste, view: View, *, is_arrow: bool) -> str:
    """Return the arrow key that may be pressed to test ``step``; Up only if the step cannot have closed the dialog."""
    if isinstance(step, Paste) or (view.test_key == "Up" and not is_arrow):
        return ""
    return view.test_key


def _is_same_page(pending: _Pending, view: View) -> bool:
    """Whether ``view`` shows the page that the pending key should have left."""
    leaves = isinstance(pending.step, Press) and pending.step.effect in _LEAVING
    return leaves and not pending.view.pages.isdisjoint(view.pages)
