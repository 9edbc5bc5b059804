"""How long the keys channel waits for what: one table, all in seconds, and by which clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Timing"]


class Timing(NamedTuple):
    """Waiting times, in seconds. Measured on Claude Code 2.0.76 to 2.1.330, also on busy machines."""

    poll_seconds: float = 0.015
    """Between two looks at the screen."""
    stable_seconds: float = 0.25
    """How long the dialog must have been visible before any key but an arrow (the client's input guard)."""
    effect_seconds: float = 0.8
    """For the effect of a key to show, before it is tested whether the key was lost."""
    invisible_seconds: float = 0.06
    """After a key that changes nothing on the screen, such as C-e."""
    hidden_seconds: float = 0.2
    """For the effect of an arrow key while the row with the cursor is not visible, so that it may well show none."""
    up_test_seconds: float = 2.5
    """As ``effect_seconds``, if only Up can test it, which the prompt box takes too."""
    stuck_seconds: float = 15.0
    """For anything at all to happen after a key; on a busy machine a client was seen to need more than 5 s."""
    others_seconds: float = 0.1
    """For the effect of a key to show that a person pressed just before all keys but ours were kept out."""
    hold_seconds: float = 5.0
    """How long other keys are kept out at most, should this process be killed."""
    stale_seconds: float = 0.5
    """How old a look may be that decides a key; it is older only if this process stood still in between."""
    absent_seconds: float = 5.0
    """For the dialog to appear, while something else is on the screen."""
    closing_seconds: float = 15.0
    """For the client to show, or the hook to tell, that it took the answer after the dialog has closed."""
    ready_seconds: float = 3.0
    """For the prompt box to become free, before a prompt has to wait: a turn that ends, a dialog that closes."""
    draft_seconds: float = 5.0
    """How long a draft must stand unchanged before it is put away: nobody types it now."""
    drawn_seconds: float = 4.0
    """For the prompt box to be drawn anew; until then it may be half drawn, on a busy machine for seconds."""
    menu_seconds: float = 4.0
    """For the menu of commands to show what is chosen."""
    lost_seconds: float = 2.5
    """For Enter to submit a prompt, before it is tested whether it was lost."""
    dialog_seconds: float = 3.0
    """For a dialog that a command opens after it was taken."""
    quiet_seconds: float = 0.4
    """How long an empty box must stand to say that a command has opened no dialog."""
    restored_seconds: float = 5.0
    """For the client to put a draft back."""
    clock: Callable[[], float] = time.monotonic
    """Replaced in tests, as ``sleep`` is; it is compared with the deadline of a request."""
    sleep: Callable[[float], None] = time.sleep
