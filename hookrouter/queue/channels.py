"""The prompt channels: what brings a prompt or command into a session, each contributed by a plugin.

A channel submits one item, once. It knows how (keys, the client's module, a hook's reply), and neither the queue nor
what proves that an item was submitted: that is seen in the client's events and records (:mod:`hookrouter.queue.proof`).
Authors test a channel with :class:`hookrouter.testing.contracts.prompt_channel.PromptChannelContract`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter._plugins.registry import Plugins
    from hookrouter.queue.items import Item
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.terminals import TerminalAddress, TerminalBackend

__all__ = [
    "PromptChannel",
    "PromptOutcome",
    "PromptRequest",
    "PromptStatus",
    "prompt_channels",
]


class PromptStatus:
    """How a channel's attempt ended: the values of ``PromptOutcome.status``."""

    SUBMITTED = "submitted"
    """The act that submits was done. Whether the client took it, an event or record has to prove."""
    NOT_NOW = "not_now"
    """Nothing was submitted, and nothing of the item is left in the session: a person types, a dialog is open, Claude
    works. The item stays the next one. If ``item.phase`` is set, it says nothing of the attempt that was cut off."""
    REFUSED = "refused"
    """Nothing was submitted, and this channel will not carry this item into this session; the next channel may."""
    UNAVAILABLE = "unavailable"
    """Nothing was submitted: this channel cannot serve the session as it is now, whatever the item, such as one that
    speaks only when a turn ends in a session that is idle. The next channel may. It is asked again for some seconds;
    if none can, the queue is held, and the item stays the next one."""
    UNCERTAIN = "uncertain"
    """The act that submits may have been done. Nobody may try again before an event or record has decided it."""


class PromptOutcome(NamedTuple):
    """What a channel did with an item."""

    status: str
    """One of the values of PromptStatus."""
    reason: str
    """One sentence for an agent or a person."""
    is_person: bool = False
    """With ``NOT_NOW``: whether a person is at the keyboard, such as one whose half-typed text stands in the box."""
    steps: tuple[str, ...] = ()
    """What was done, one line a step, for the journal."""
    is_try: bool = False
    """With ``NOT_NOW``: whether the item was put in and taken out again, or the session showed nothing where it could
    be, so that waiting alone may not help. Such attempts are counted: after some of them the next channel gets it."""


class PromptRequest(NamedTuple):
    """All that a channel needs to submit one item."""

    item: Item
    """What is to be submitted. ``item.phase`` is what an earlier attempt that was killed had saved; else empty."""
    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of the session."""
    client_pid: int
    """The client's process id; 0 if it is not known, or is one of another machine or container."""
    client_version: tuple[int, ...] | None
    """The version of Claude Code, as the client's registry or the transcript says; None if neither does."""
    folder: str
    """The session's working folder."""
    transcript_path: str
    """Where the client writes the session's transcript; empty if that is not known."""
    address: TerminalAddress | None
    """Where the session is drawn; None outside any known terminal."""
    terminal: TerminalBackend | None
    """The backend that made the address."""
    store: DocumentStore
    """Where the channel may keep documents of its own."""
    deadline: float
    """``time.monotonic()`` value after which the channel gives up."""
    save_phase: Callable[[str], None]
    """Saves a word of the channel's own, durably, before an act. If the process is killed, the next attempt finds it in
    ``item.phase``, and so knows how far this one can have come; also after ``NOT_NOW``. An empty word says that nothing
    of the item is left in the session. Raises StoreError; the act must then not be done."""
    is_proven: Callable[[], bool]
    """Whether an event or record has proven that the item was submitted."""
    stopped: Callable[[], str] = lambda: ""
    """Why the channel must go no further: the session is paused, the queue is held, a dialog is open, another turn has
    begun; empty while it may. To be asked before each act; the channel then ends with ``NOT_NOW`` and this reason."""
    withdrawn: Callable[[], str] = lambda: ""
    """Why an act that completes a submission, such as to confirm a dialog that the item itself has opened, must not be
    done any more: the session is paused, or the queue is held; empty while it may be. What the client shows, or works
    on, does not count here: it is the item's own."""
    settings: Callable[[type[Any]], Any] = lambda settings: settings()
    """Returns the settings of the channel's plugin, by the class that it declares in ``plugin_settings()``, as
    :meth:`hookrouter.context.Services.settings` does. Raises LookupError."""
    home: Home | None = None
    """Where hookrouter keeps its things, such as the router's sockets; None if nobody has said."""


class PromptChannel:
    """Submits items in sessions.

    A channel derives from it and must have ``name``, ``refusal`` and ``submit``. What else it can, it says by
    ``sees_idle`` and ``is_exact``, and by overriding ``prepare``.
    """

    name: str
    """What ``[sessions] channels`` in config.toml lists it by."""
    sees_idle = False
    """Whether it sees by itself that the client is ready, and gives the item back if not. Then ``submit`` is called as
    soon as a hook has told of a turn's end, and not only when the client's own registry of sessions says so, which
    follows some tenths of a second later (2.1.330)."""
    is_exact = False
    """Whether it cannot submit anything but exactly the item. Then an item that is on its way does not fail because a
    person submits something meanwhile: it comes behind that, and a proof decides. What is typed into a box could have
    become a part of what the person submitted."""

    def refusal(self, request: PromptRequest) -> str:
        """Return why this channel cannot carry this item into this session, in one sentence; empty if it can.

        Looks at the request alone: it asks no terminal and changes nothing. Must never raise.
        """
        raise NotImplementedError

    def prepare(self, request: PromptRequest) -> None:
        """Get ready for the item, which comes soon, and which this channel is the first to carry.

        Called once for each item, while another one is under way or Claude works; ``submit`` may be called without it.
        Submits nothing. May raise StoreError.
        """

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Submit the item exactly as it is, or leave the session as it was and say why.

        Blocks until the act is done, not until it is proven. The act is done at most once, also over several calls for
        the same item of which any was killed at any moment. Must never raise for a session in any state.
        """
        raise NotImplementedError


def prompt_channels(plugins: Plugins) -> dict[str, PromptChannel]:
    """Return the prompt channels that active plugins contribute, by name."""
    return plugins.contributions("prompt_channel", base=PromptChannel)
