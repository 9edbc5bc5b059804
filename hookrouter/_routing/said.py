"""What the plugins of one run have replied so far, and the payload as their replies have rewritten it."""

from __future__ import annotations

from hookrouter._routing.output import REFUSALS, HookOutput
from hookrouter.util.text import describe_error
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from hookrouter._isolation.progress import RunProgress
    from hookrouter._plugins.registry import Plugins
    from hookrouter._routing.rewrites import Patch
    from hookrouter.context import Context
    from hookrouter.replies import Reply

__all__ = ["REWRITING", "Said", "Taken", "taken_of"]

REWRITING = {
    "updatedInput": "tool_input",
    "updatedToolOutput": "tool_response",
    "updatedMCPToolOutput": "tool_response",
    "displayContent": "delta",
    "content": "content",
}
"""The fields of a reply that take the place of one of the payload's, and which."""


class Taken(Value):
    """A reply of a plugin. Held as long as the run, because replies are told apart by their identity."""

    plugin: str
    hook: str
    reply: Reply
    rewrites: tuple[tuple[str, Patch], ...]
    """What it rewrites of the payload: the reply's field, and the changes."""


class Said:
    """What was replied so far, and the payload as the replies have rewritten it."""

    def __init__(self, plugins: Plugins, payload: Mapping[str, Any], context: Context, progress: RunProgress) -> None:
        """Begin with nothing said about ``payload``; what is taken is told to ``progress``."""
        self._plugins = plugins
        self.original = self.payload = payload
        self._context = context
        self._event = context.event
        self._progress = progress
        self.replies: list[tuple[str, Reply]] = []
        self.taken: dict[int, Taken] = {}
        """What was taken of plugins, by the reply's identity."""
        self.messengers: list[str] = []
        """The plugins that have replied with somebody else's decision."""

    @property
    def parts(self) -> dict[str, Any] | None:
        """What can be rewritten of the payload, as it is by now; None if nothing was."""
        if self.payload is self.original:
            return None
        return {part: self.payload[part] for part in REWRITING.values() if part in self.payload}

    @property
    def is_refused(self) -> bool:
        """Whether a reply refuses."""
        return any(reply.verdict in REFUSALS for _, reply in self.replies)

    def say(self, plugin: str, text: str) -> Reply | None:
        """Show the user a message; return it, or None if the event does not show any."""
        from hookrouter.replies import message

        reply = message(self._event, text)
        if reply is not None:
            self.replies.append((plugin, reply))
        return reply

    def take(self, taken: Taken, entry: dict[str, Any]) -> None:
        """Note what a plugin replied, and pass on what it rewrites of the payload that its plugin saw."""
        self.taken[id(taken.reply)] = taken
        if self._progress.trace is not None:
            from hookrouter._routing.tracing import shown

            entry["reply"] = shown(taken.reply)
            self._progress.trace.reply(taken.plugin, entry["reply"])
        for field, patch in taken.rewrites:
            self.payload = _rewritten(self.payload, field, patch)
            entry[field] = patch.keys()
            # Inputs hold secrets; who wants them in the journal says so.
            if self._plugins.all_config.journal_payloads or self._progress.trace is not None:
                entry["values"] = patch.values()

    def add(self, replies: Sequence[Reply]) -> None:
        """Give these replies, which were taken, after the others."""
        self.replies += [(self.taken[id(reply)].plugin, reply) for reply in replies]
        self.rewrite()

    def given(self, hook: str) -> list[Reply]:
        """Return the replies to one hook that are to be given, in order."""
        return [taken.reply for taken in self._standing() if taken.hook == hook]

    def exchange(self, former: Collection[Reply], replies: Sequence[Reply]) -> None:
        """Give ``replies``, which were taken, in the place of ``former``; what is in both stays where it is."""
        kept, known = {id(reply) for reply in replies}, {id(reply) for reply in former}
        self.replies = [one for one in self.replies if id(one[1]) in kept or id(one[1]) not in known]
        self.add([reply for reply in replies if id(reply) not in known])

    def rewrite(self) -> None:
        """Rewrite the payload as the replies say that stand by now: a wrapper may have taken some away."""
        payload = self.original
        for taken in self._standing():
            for field, patch in taken.rewrites:
                payload = _rewritten(payload, field, patch)
        self.payload = payload

    def _standing(self) -> list[Taken]:
        """Return those of the replies that were taken of plugins and are still to be given, in order."""
        return [self.taken[id(reply)] for _, reply in self.replies if id(reply) in self.taken]

    def keep_all(self) -> None:
        """Give every reply that was taken."""
        kept = {id(reply) for _, reply in self.replies}
        self.replies += [(taken.plugin, taken.reply) for key, taken in self.taken.items() if key not in kept]

    def is_final(self, reply: Reply) -> bool:
        """Say whether no wrapper may take a reply away: the verdict of a plugin that is set to fail closed."""
        return reply.verdict in REFUSALS and self._plugins.config(self.taken[id(reply)].plugin).on_error == "closed"

    def merged(self, guards: Collection[str]) -> HookOutput:
        """Return what the replies come to. Raises what merging raises, if ``guards`` may have refused."""
        # The replies' modules are loaded only if there is one: most hooks look and say nothing.
        if not self.replies:
            return HookOutput()
        from hookrouter._routing.merge import merge

        try:
            return merge(self._event, self.replies, messengers=self.messengers, rewritten=self._rewritten_fields())
        except Exception as error:
            self._context.warn(f"the replies could not be merged: {describe_error(error)}")
            refused = [
                (plugin, type(reply)._make(reply.verdict, reply.reason))
                for plugin, reply in self.replies
                if reply.verdict in REFUSALS
            ]
            if not refused and guards:
                # One may have asked a person, or changed the input.
                raise
            return merge(self._event, refused) if refused else HookOutput()

    def _rewritten_fields(self) -> dict[str, object]:
        """Return what the replies' fields come to together; note who changed which key."""
        found = [(taken.plugin, field, patch) for taken in self._standing() for field, patch in taken.rewrites]
        if not found:
            return {}
        from hookrouter._routing.rewrites import changed_by

        for part in dict.fromkeys(REWRITING[field] for _, field, _ in found):
            patches = [(plugin, patch) for plugin, field, patch in found if REWRITING[field] == part]
            self._context.note(f"{part}_by", changed_by(patches))
        return {field: self.payload[REWRITING[field]] for _, field, _ in found}


def taken_of(plugin: str, hook: str, reply: Reply, seen: Mapping[str, Any]) -> Taken:
    """Return a reply to a payload with what it rewrites of that."""
    fields = reply.output.keys() & REWRITING.keys()
    if not fields:
        return Taken(plugin, hook, reply, ())
    from hookrouter._routing.rewrites import Patch

    patches = [(field, Patch(seen.get(REWRITING[field]), reply.output[field])) for field in sorted(fields)]
    return Taken(plugin, hook, reply, tuple(patches))


def _rewritten(payload: Mapping[str, Any], field: str, patch: Patch) -> Mapping[str, Any]:
    part = REWRITING[field]
    return {**payload, part: patch.apply(payload.get(part))}
