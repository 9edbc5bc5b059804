"""The prompt channel ``stop``: a plain prompt goes in as the Stop hook's own reply, which has Claude go on.

It needs no terminal, and works in every version. But Claude is given the text as a hook's words and not as a person's,
nothing but plain prompts is carried out, and nothing begins in a session that is idle: an item waits for the end of a
turn. Claude Code ends a turn after 8 such replies in a row all the same (2.1.150 to 2.1.330).

The plugin ``stop-prompts``. The reply is made by the plugin ``sessions``, see :mod:`hookrouter_sessions.lifecycle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless
from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptStatus
from hookrouter.queue.items import PROMPT
from hookrouter_sessions.channels.lengths import too_long
from hookrouter_sessions.channels.offers import make_offer

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptRequest

__all__ = ["StopChannel"]

NAME = "stop"

_LONGEST = 51_000
"""The longest text that is given, in UTF-16's units: of one of 52,000 the client tells Claude the beginning alone, and
in which file it has put the rest (2.1.332)."""


class StopChannel(PromptChannel):
    """See the module."""

    name = NAME
    is_exact = True

    def refusal(self, request: PromptRequest) -> str:
        """Return why this item cannot be a hook's reply; empty if it can."""
        if request.item.kind != PROMPT:
            return "what a Stop hook replies is not carried out as a command: it takes plain prompts only"
        return too_long(request.item.text, _LONGEST)

    def prepare(self, request: PromptRequest) -> None:
        """Have the hook of the turn's end reply with this item. Raises StoreError."""
        make_offer(request.store, request.session, request.item.id)

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Leave it to the next turn's end; of one that was replied already, say that nobody may do it again."""
        if request.item.phase:
            return PromptOutcome(PromptStatus.UNCERTAIN, "it was given to Claude as the reply to the end of its turn")
        # Should a turn begin before anybody else has brought it.
        self.prepare(request)
        reason = "it replies only when a turn ends, and none runs"
        return PromptOutcome(PromptStatus.UNAVAILABLE, reason)


@hookimpl
@stateless
def prompt_channel() -> PromptChannel:
    """Contribute the channel."""
    return StopChannel()
