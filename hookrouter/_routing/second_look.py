"""What a plugin of ``[plugins] last`` says that is asked once more, because the payload was rewritten after it.

What it says then takes the place of what it said before, and rewrites nothing: so what it was asked about is what the
tool gets. Loaded only if that happens.
"""

from __future__ import annotations

from hookrouter._routing.output import REFUSALS
from hookrouter._routing.rewrites import same
from hookrouter._routing.said import REWRITING, Taken

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from hookrouter._routing.said import Said
    from hookrouter.context import Context
    from hookrouter.replies import Reply

__all__ = ["GRANTS", "differs", "heed", "kept_rewrites", "settled", "withdraw"]

GRANTS = ("allow", "accept")
"""The verdicts that let something happen, and so are about one input alone."""


def differs(said: Said, left: Mapping[str, Any] | None) -> bool:
    """Whether the payload is another than a call has left, whose ``parts`` are given."""
    former, final = (said.original if parts is None else parts for parts in (left, said.parts))
    return not all(same(former.get(part), final.get(part)) for part in REWRITING.values())


def withdraw(said: Said, plugin: str, hook: str, verdicts: Collection[str] | None = None) -> None:
    """Take back what a plugin has replied to a hook, except for what it rewrote; with ``verdicts``, only such."""
    for reply in said.given(hook):
        taken = said.taken[id(reply)]
        if taken.plugin == plugin and (verdicts is None or reply.verdict in verdicts):
            place = next(index for index, (_, given) in enumerate(said.replies) if given is reply)
            said.replies[place : place + 1] = [(plugin, _bare(said, taken))] if taken.rewrites else []


def heed(request: Said, call: Said, context: Context) -> None:
    """Give in the replies to a PermissionRequest what was said of its call, whose input they have rewritten.

    A refusal refuses. Whoever asks for a person, or rewrites it once more, takes back every grant: Claude Code's dialog
    stays, and a person decides about the input that Claude gave.
    """
    from hookrouter.replies import closed

    refusals = [
        (plugin, refusal)
        for plugin, reply in call.replies
        if reply.verdict in REFUSALS and (refusal := closed(context.event, reply.reason or "")) is not None
    ]
    # What the user is told, such as a guard's failure; what plugins said without a verdict is about another event.
    told = [one for one in call.replies if one[1].verdict is None and id(one[1]) not in call.taken]
    request.replies += [*refusals, *told]
    doubts = [plugin for plugin, reply in call.replies if reply.verdict not in (None, "allow")]
    if not refusals and (doubts or differs(call, None)):
        context.warn("a plugin in last does not let the rewritten call pass as it is, so a person decides")
        request.replies = [one for one in request.replies if one[1].verdict not in GRANTS]


def kept_rewrites(said: Said, former: Iterable[Reply], replies: Collection[Reply]) -> list[Reply]:
    """Return what stays of the replies that a wrapper has taken away: what they rewrote."""
    kept = {id(reply) for reply in replies}
    gone = [said.taken[id(reply)] for reply in former if id(reply) not in kept]
    return [_bare(said, taken) for taken in gone if taken.rewrites]


def _bare(said: Said, taken: Taken) -> Reply:
    """Return a reply that rewrites what another one does, and says nothing else."""
    output = {name: value for name, value in taken.reply.output.items() if name in REWRITING}
    reply = type(taken.reply)._make(output=output)
    said.taken[id(reply)] = Taken(taken.plugin, taken.hook, reply, taken.rewrites)
    return reply


def settled(taken: Taken) -> Taken:
    """Return a reply without what it rewrites, and without a grant that was about that."""
    if not taken.rewrites:
        return taken
    reply = taken.reply
    is_void = reply.verdict in GRANTS and any(patch.keys() for _, patch in taken.rewrites)
    without = reply._deciding(
        None if is_void else reply.verdict,
        None if is_void else reply.reason,
        {name: value for name, value in reply.output.items() if name not in REWRITING},
    )
    return Taken(taken.plugin, taken.hook, without, ())
