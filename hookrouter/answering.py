"""The shared vocabulary of answering: decisions, screens, steps, and the interfaces that plugins contribute.

A *channel* brings an answer to Claude Code. The keys channel does it through a *terminal backend* (which reads a
pane and presses keys) and a *keystroke planner* (which decides the next key from what is on screen). A *gateway*
wakes the agent. Each is contributed by a plugin through the hook of the same name in
:mod:`hookrouter.hookspecs.answering`; this module says what each must do and holds no implementation.

Records that a hook process handles are named tuples, the others attrs classes: attrs is not imported on the way of
``hookrouter run``, so the attrs-based decisions live in :mod:`hookrouter.decisions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.decisions import Decision
    from hookrouter.store import Store
    from hookrouter.tools import AskUserQuestionInput

__all__ = [
    "AnswerChannel",
    "AnswerRequest",
    "Delivery",
    "DeliveryOutcome",
    "FollowUp",
    "Gateway",
    "HoldingTerminal",
    "KeystrokePlanner",
    "Paste",
    "Press",
    "Probe",
    "ProbingGateway",
    "Screen",
    "Step",
    "Stop",
    "Taken",
    "TerminalAddress",
    "TerminalBackend",
    "TerminalError",
    "TerminalGone",
    "Wait",
    "WaitingChannel",
    "Wake",
    "Woken",
]


class TerminalAddress(NamedTuple):
    """Where a Claude Code session is drawn, in a form that another process can use later."""

    backend: str
    """The name of the terminal backend that made the address, for example ``tmux``."""
    session: str
    """The session's name, which is the name the agent knows it by."""
    target: str
    """The exact pane, for example ``%3``; never a name that another pane could have."""
    server: str
    """The terminal server, for tmux the path of its socket; empty where a backend has only one."""


class TerminalError(Exception):
    """The terminal could not do what was asked; the message says what and why."""


class TerminalGone(TerminalError):
    """The pane, the session or its server does not exist any more."""


class Screen(NamedTuple):
    """What a pane shows at one moment."""

    lines: tuple[str, ...]
    """The visible rows from top to bottom, without trailing blanks; a wrapped line is several rows."""
    width: int
    """Columns of the pane."""
    height: int
    """Rows of the pane."""
    unchanged: float = 0.0
    """Seconds for which the pane has certainly drawn nothing new; 0 where the backend cannot tell."""


class TerminalBackend(Protocol):
    """Reads and drives panes of one kind of terminal.

    Key names are tmux's: ``Enter``, ``Escape``, ``Tab``, ``BTab``, ``Space``, ``Up``, ``Down``, ``Left``, ``Right``,
    ``Home``, ``End``, ``BSpace``, ``C-e``, ``C-u``, or one printable character.
    """

    name: str

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        """Return the pane in which a process with this environment runs, or None where it is not this terminal.

        Called in the hook process, so it must be quick and import little. Raises TerminalError where the environment
        names a pane that cannot be found.
        """

    def capture(self, address: TerminalAddress) -> Screen:
        """Return what the pane shows now. Raises TerminalGone."""

    def press(self, address: TerminalAddress, key: str) -> None:
        """Press one key, after leaving any mode of the terminal (such as tmux's copy mode). Raises TerminalGone."""

    def paste(self, address: TerminalAddress, text: str) -> None:
        """Put ``text`` in literally and at once, newlines included, without submitting it. Raises TerminalGone."""


@runtime_checkable
class HoldingTerminal(Protocol):
    """What a terminal backend may offer besides: to keep other keys out of a pane while an answer is entered.

    Where it does, a person's key cannot come between a look at the dialog and the key that the look decided. Without it
    such a key can get into a text, or lead that key to another page: the answer is then recorded differently, or the
    form declined, and reported as that.
    """

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        """Keep every key and paste but this object's own out of the pane, for ``seconds`` from now or until released.

        Returns whether the pane was held without a gap since the call before, so False for a first call. The hold must
        end in time even if this process is killed; ``press`` and ``paste`` must raise TerminalError where it has ended
        unexpectedly. Raises TerminalError, and TerminalGone.
        """

    def release(self, address: TerminalAddress) -> None:
        """End a hold of this object; does nothing where there is none. Raises nothing for a pane that is gone."""


class Press(NamedTuple):
    """Press one key."""

    key: str
    why: str


class Paste(NamedTuple):
    """Put text in, literally."""

    text: str
    why: str


class Wait(NamedTuple):
    """Nothing can be decided from this screen; look again shortly."""

    why: str


class Stop(NamedTuple):
    """Press no more keys.

    ``delivered`` says whether the dialog took the whole answer; False leaves the dialog as it is, and ``why`` is what
    the agent is told.
    """

    delivered: bool
    why: str


Step = Press | Paste | Wait | Stop


class Taken(NamedTuple):
    """One step that was carried out, and the screen that it was decided on."""

    step: Press | Paste
    screen: Screen


class KeystrokePlanner(Protocol):
    """Decides the next key from what is on screen. A pure function: no clock, no terminal, no memory of its own."""

    name: str

    def next_step(
        self,
        screen: Screen,
        form: AskUserQuestionInput,
        decisions: Sequence[Decision],
        taken: Sequence[Taken],
    ) -> Step:
        """Return what to do on this screen to bring ``decisions`` into the dialog of ``form``.

        ``taken`` holds the steps of this delivery so far, oldest first. Must answer ``Stop(False, why)`` or ``Wait``
        on every screen that does not show this form, and must never raise on any screen.
        """

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
        """Describe in words, one line a step, what a freshly opened dialog would get (``answer --dry-run``)."""


class DeliveryOutcome:
    """How a channel's attempt ended: the values of ``Delivery.outcome``."""

    DELIVERED = "delivered"
    """Claude Code took the answer; PostToolUse says whether it recorded what was meant."""
    REFUSED = "refused"
    """The channel looked and will not answer: the dialog is not this question's, or not on screen."""
    UNAVAILABLE = "unavailable"
    """The channel cannot serve this session at all; the next channel may."""


class Delivery(NamedTuple):
    """What a channel did with an answer."""

    outcome: str
    """One of the values of DeliveryOutcome."""
    reason: str
    """One sentence for the agent."""
    steps: tuple[str, ...] = ()
    """What was done, one line a step, for the journal."""


class AnswerRequest(NamedTuple):
    """All that a channel needs to deliver one answer."""

    session: str
    tool_use_id: str
    form: AskUserQuestionInput
    decisions: tuple[Decision, ...]
    address: TerminalAddress | None
    """Where the question was asked; None outside any known terminal."""
    terminal: TerminalBackend | None
    """The backend that made the address."""
    planner: KeystrokePlanner | None
    """The planner chosen in ``[answer] planner``."""
    still_open: Callable[[], bool]
    """Whether the question's document still exists; False once a PostToolUse or a sweep removed it."""
    deadline: float
    """``time.monotonic()`` value after which the channel gives up."""
    session_id: str = ""
    """Claude Code's id of the session."""
    store: Store | None = None
    """Where the channel may keep documents of its own."""
    client_version: tuple[int, ...] | None = None
    """The version of the Claude Code that asks, as its transcript says; None where it does not."""
    stopped: Callable[[], str] = lambda: ""
    """Why the channel must go no further, because a person has paused the session; empty while it may.

    To be asked before each act; the channel then ends with ``REFUSED`` and this reason."""
    is_last: bool = False
    """Whether no other channel is tried after this one."""


class AnswerChannel(Protocol):
    """Brings an answer to Claude Code."""

    name: str

    def deliver(self, request: AnswerRequest) -> Delivery:
        """Deliver the answer, or say why not. Blocks until then; never raises for a dialog or terminal in any state."""


@runtime_checkable
class WaitingChannel(Protocol):
    """What an answer channel may offer besides: to say whether something waits for the answer to a question."""

    def is_waiting(self, store: Store, session_id: str, form: AskUserQuestionInput) -> bool:
        """Whether an answer to this question would be taken at once. For lists of questions; changes nothing."""


class Wake(NamedTuple):
    """One message to an agent."""

    kind: str
    """``question``, ``mismatch``, ``unanswered``, ``warning``, ``reminder`` or ``escalation``."""
    agent: str
    """The agent's id in config.toml."""
    gateway: str
    """The gateway's name in config.toml."""
    session: str
    session_id: str
    tool_use_id: str
    subject: str
    """One line."""
    text: str
    """The whole message, markdown, with Claude's words quoted as data."""
    id: str = ""
    """The message id, which is its idempotency key; given by the outbox."""
    created_at: str = ""
    """ISO 8601, UTC; given by the outbox."""


class FollowUp(NamedTuple):
    """A message that goes out some time after another one, if it still matters then."""

    wake: Wake
    seconds: float
    """How long to wait."""
    after_delivery: bool = True
    """Whether the wait begins when the other message was delivered, or already when it was put into the outbox."""
    fallbacks: tuple[str, ...] = ()
    """Gateways that are tried where ``wake.gateway`` fails, in order."""
    then: tuple[FollowUp, ...] = ()
    """What follows this one in turn."""


class Woken(NamedTuple):
    """What came of one delivery attempt."""

    delivered: bool
    reason: str
    """For people and the journal."""
    retry: bool = True
    """Whether trying again can help; False for a fault that only a change of config mends."""
    retry_after: float | None = None
    """Seconds the other side asked to wait, where it did."""


class Gateway(Protocol):
    """Wakes agents. Runs in a process of its own, never inside a hook; may block up to its own timeout.

    The messages of one session come one after the other; those of up to four sessions come at the same time, each in
    a process of its own, so that nothing that is kept in memory reaches the others, or lasts.
    """

    type: str
    """The value of ``type`` in ``[gateways.NAME]``."""

    def check(self, settings: Mapping[str, object]) -> list[str]:
        """Return what is wrong with a ``[gateways.NAME]`` table (without ``type``), one fault each naming its key."""

    def deliver(self, wake: Wake, settings: Mapping[str, object]) -> Woken:
        """Bring one message to its agent. Must be safe to repeat with the same ``wake.id``."""


class Probe(NamedTuple):
    """What a look at the other side of a gateway showed."""

    usable: bool
    message: str
    """What answered, or what is wrong."""
    fix: str = ""
    """What to do where it is not usable."""


@runtime_checkable
class ProbingGateway(Protocol):
    """What a gateway may offer besides: to look whether the other side is there. ``hookrouter doctor`` asks it."""

    def probe(self, settings: Mapping[str, object]) -> Probe:
        """Look, within seconds and without waking anybody; ``settings`` have passed ``check``."""
