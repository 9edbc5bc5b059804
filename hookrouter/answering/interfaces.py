"""The shared vocabulary of answering: decisions, screens, steps, and the interfaces that plugins contribute.

A *channel* delivers an answer to Claude Code. The keys channel does it through a *terminal backend* (which reads a
pane and presses keys) and a *keystroke planner* (which decides the next key from what is on screen). Each is
contributed by a plugin through the hook of the same name in :mod:`hookrouter.hookspecs.answering`; this module says
what each must do and holds no implementation. Gateways, which bring messages to agents, are in
:mod:`hookrouter.messaging.gateway`.

Records that a hook process handles are named tuples, the others attrs classes: attrs is not imported on the way of
``hookrouter run``, so the attrs-based decisions live in :mod:`hookrouter.answering.decisions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from hookrouter.util.errors import HookrouterError
from hookrouter.util.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter._plugins.registry import Plugins
    from hookrouter.answering.decisions import Decision
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.tools import AskUserQuestionInput

__all__ = [
    "EVERY_KIND",
    "AnswerChannel",
    "AnswerOutcome",
    "AnswerRequest",
    "AnswerStatus",
    "AskedDialog",
    "Beside",
    "DialogPlanner",
    "DialogReader",
    "Done",
    "Effect",
    "GiveUp",
    "GuardingTerminal",
    "HoldingTerminal",
    "KeystrokePlanner",
    "ListingTerminal",
    "OpeningTerminal",
    "PaneListingTerminal",
    "Paste",
    "Press",
    "Probe",
    "ProbingTerminal",
    "RunningPane",
    "Screen",
    "SeenDialog",
    "Step",
    "StyledScreen",
    "StyledTerminal",
    "StyledText",
    "Taken",
    "TerminalAddress",
    "TerminalBackend",
    "TerminalError",
    "TerminalGone",
    "View",
    "Wait",
    "WaitingChannel",
    "answer_channels",
    "keystroke_planners",
    "serves",
    "terminal_backends",
]


class TerminalAddress(NamedTuple):
    """Where a Claude Code session is drawn, in a form that another process can use later.

    It is written into the question's document, so it must be enough to find the pane again from a process that runs
    outside the terminal. It must never lead to another pane: if the pane is gone, every use raises TerminalGone, also
    if a session of the same name was opened since.
    """

    backend: str
    """The ``name`` of the terminal backend that made the address, for example ``tmux``."""
    session: str
    """The name that people and agents know the session by, as the terminal shows it; not empty, and different for two
    sessions that run at once on one server."""
    target: str
    """The exact pane, for example ``%3``; never a name that another pane could have, now or later."""
    server: str
    """The terminal server, for tmux the path of its socket; empty if a backend has only one."""


class TerminalError(HookrouterError):
    """The terminal could not do what was asked; the message says what and why."""


class TerminalGone(TerminalError):
    """The pane, the session or its server does not exist any more."""


class Screen(NamedTuple):
    """What a pane shows at one moment."""

    lines: tuple[str, ...]
    """The visible rows from top to bottom, always ``height`` of them, empty ones included; each without the blanks at
    its end and without colours. A long line that is wrapped is several rows. What was scrolled away is not in it."""
    width: int
    """Columns of the pane."""
    height: int
    """Rows of the pane."""
    unchanged: float = 0.0
    """Seconds for which the pane has certainly drawn nothing new; 0 if the backend cannot tell."""


class TerminalBackend(Protocol):
    """Reads and drives panes of one kind of terminal.

    A backend may also have the methods of :class:`GuardingTerminal`, :class:`HoldingTerminal`,
    :class:`ListingTerminal`, :class:`OpeningTerminal`, :class:`PaneListingTerminal`, :class:`ProbingTerminal` and
    :class:`StyledTerminal`.

    **Keys** have tmux's names: ``Enter``, ``Escape``, ``Tab``, ``BTab`` (Shift+Tab), ``Space``, ``Up``, ``Down``,
    ``Left``, ``Right``, ``Home``, ``End``, ``BSpace``, ``C-e``, ``C-s``, ``C-u``; any other key is one printable
    character. The program in the pane must read what it would read if a person had pressed the key: for ``Enter`` the
    byte 0x0D, for ``BSpace`` 0x7F or 0x08, for an arrow the sequence of the mode that the program has chosen
    (:data:`hookrouter.testing.contracts.terminal_backend.NAMED_KEYS` lists them all).

    **Text** is pasted in one piece. If the program has asked for bracketed paste (``ESC [ ? 2004 h``), the text stands
    between ``ESC [ 200 ~`` and ``ESC [ 201 ~``, and its newlines arrive as newlines; if it has not, nothing but the
    text arrives. No Enter follows. Text is refused, and nothing of it arrives, if it is empty or holds a character that
    would act as a key or is none: a control character other than newline and tab, or a surrogate.
    """

    name: str
    """What ``[answer] terminal`` in config.toml names it by; not empty, without blanks at its ends."""

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        """Return the pane in which a process with this environment runs, or None if that is not this terminal.

        Called in the hook process, so it must be quick and import little. Raises TerminalError if the environment
        names a pane that cannot be found.
        """

    def capture(self, address: TerminalAddress) -> Screen:
        """Return what the pane shows now.

        Raises TerminalGone if the pane, its server or the program in it does not exist any more.
        """

    def press(self, address: TerminalAddress, key: str) -> None:
        """Press one key in this pane and no other, after leaving any mode of the terminal's own (tmux's copy mode).

        Raises TerminalGone, and TerminalError for anything that is no key, or that this terminal cannot press.
        """

    def paste(self, address: TerminalAddress, text: str) -> None:
        """Put ``text`` in literally and at once, newlines included, without submitting it; leaves modes as ``press``.

        Raises TerminalGone, and TerminalError for text that is refused.
        """


@runtime_checkable
class ProbingTerminal(Protocol):
    """What a terminal backend may offer besides: to say whether the terminal is there, for ``hookrouter doctor``."""

    def probe(self) -> Probe:
        """Look, within seconds, whether the terminal's program is installed in a version that can be driven.

        Called outside any pane too, so a terminal that is installed but does not run is usable.
        """


@runtime_checkable
class ListingTerminal(Protocol):
    """What a terminal backend may offer besides: to list the sessions that run, for ``hookrouter init``."""

    def sessions(self, environ: Mapping[str, str]) -> list[str]:
        """Return the names of the sessions that a process with this environment would reach; none if none runs.

        Raises TerminalError if the terminal cannot be asked.
        """


class RunningPane(NamedTuple):
    """A pane in which a program runs."""

    address: TerminalAddress
    """Where it is."""
    program: str
    """The name of the program in its foreground, such as ``claude``."""
    folder: str
    """That program's working folder; empty if it is not known."""


@runtime_checkable
class PaneListingTerminal(Protocol):
    """What a terminal backend may offer besides: to list the panes that there are.

    A client whose session has not begun, because a dialog of its start waits, is found by its pane alone.
    """

    def panes(self, environ: Mapping[str, str]) -> list[RunningPane]:
        """Return the panes that a process with this environment would reach; none if none runs. Starts none.

        Raises TerminalError if the terminal cannot be asked.
        """


class StyledText(NamedTuple):
    """A part of a row that is drawn in one way."""

    text: str
    """What it says."""
    is_dim: bool = False
    """Whether it is drawn faint, as the client draws a placeholder."""
    is_reversed: bool = False
    """Whether its colours are exchanged, as the client draws its cursor."""


class StyledScreen(NamedTuple):
    """What a pane shows at one moment, and how."""

    screen: Screen
    """What it shows."""
    rows: tuple[tuple[StyledText, ...], ...]
    """For each of its lines the parts, which joined are the line. Neighbours differ in style, and none is empty."""


@runtime_checkable
class StyledTerminal(Protocol):
    """What a terminal backend may offer besides: to tell faint text and the cursor's cell from other text.

    In the prompt box the client draws its own hints faint, and what a person typed is not faint. Without it any text in
    the box counts as a person's, unless its words are those of a hint that is known.
    """

    def capture_styled(self, address: TerminalAddress) -> StyledScreen:
        """Return what the pane shows now, as ``capture`` does, with the style of each part. Raises what it raises."""


@runtime_checkable
class HoldingTerminal(Protocol):
    """What a terminal backend may offer besides: to keep other keys out of a pane while an answer is entered.

    If it does, a person's key cannot come between a look at the dialog and the key that the look decided. Without it
    such a key can get into a text, or lead that key to another page: the answer is then recorded differently, or the
    form declined, and reported as that.
    """

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        """Keep every key and paste but this object's own out of the pane, for ``seconds`` from now or until released.

        Returns whether the pane was held without a gap since the call before, so False for a first call. The hold must
        end in time even if this process is killed; ``press`` and ``paste`` must raise TerminalError if it has ended
        unexpectedly. Raises TerminalError, and TerminalGone.
        """

    def release(self, address: TerminalAddress) -> None:
        """End a hold of this object; does nothing if there is none. Raises nothing for a pane that is gone."""


@runtime_checkable
class GuardingTerminal(Protocol):
    """What a terminal backend may offer besides: to press keys only while the same program runs in the pane.

    A client that dies while keys are typed leaves its pane to the shell that started it. Without this ability a key
    that was decided before, on a screen that showed the client, reaches that shell.
    """

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        """Have ``press`` and ``paste`` of this object act only while the program runs that now is in the foreground.

        If another one is, they raise TerminalGone, and nothing arrives: whether it is must be found out by the terminal
        itself, as a part of the act. ``client_pid`` is the client's process id, 0 if it is not known: where a shell
        without job control has started it, the terminal calls the shell its foreground, so they also raise TerminalGone
        once that process has ended. It holds until the next call for this pane, or the end of a hold. Raises
        TerminalGone and TerminalError.
        """


@runtime_checkable
class OpeningTerminal(Protocol):
    """What a terminal backend may offer besides: to run a program in a new pane.

    ``hookrouter demo --terminal NAME`` and ``hookrouter doctor --client PATH --terminal NAME`` need it, nothing else.
    """

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        """Run ``command``, an argument list and no shell's line, in a new pane, without a user's configuration.

        The program gets ``environ`` and what the terminal itself adds, so that ``locate`` finds the pane from its
        environment; its working folder is ``folder``. ``size`` is how many columns and rows the pane should have.
        Raises TerminalError.
        """

    def close_pane(self, address: TerminalAddress) -> None:
        """End the pane and the program in it; does nothing if it is gone."""


class Effect:
    """What a key does beyond its own page: the values of ``Press.effect``. The channel waits for each in its way."""

    CHANGES = "changes"
    """It changes something on the page that is on screen, and that shows."""
    INVISIBLE = "invisible"
    """It works, but changes nothing on the screen, so no effect is waited for."""
    LEAVES = "leaves"
    """It leads to another page of the dialog: it counts as still on its way while the same page is on screen."""
    SUBMITS = "submits"
    """It answers the whole form."""
    DECLINES = "declines"
    """It declines the whole form for a chat, whose text is still to be sent."""


class Press(NamedTuple):
    """Press one key."""

    key: str
    """Its name, see :class:`TerminalBackend`."""
    why: str
    """What it is for, for the journal."""
    effect: str = Effect.CHANGES
    """What it does, one of the values of Effect."""


class Paste(NamedTuple):
    """Put text in, literally."""

    text: str
    """The text, newlines included."""
    why: str
    """What it is for, for the journal."""


class Wait(NamedTuple):
    """Nothing can be decided from this screen; look again shortly."""

    why: str
    """What is missing; the agent is told it if nothing comes of the waiting."""


class Done(NamedTuple):
    """Press no more keys: the dialog took the whole answer."""

    why: str
    """How that shows."""


class GiveUp(NamedTuple):
    """Press no more keys, and leave the dialog as it is."""

    why: str
    """What the agent is told."""


Step = Press | Paste | Wait | Done | GiveUp


class View(NamedTuple):
    """What a planner has read from one screen: its own state, and what the channel must know of it.

    A planner that does not read the dialog gives the first two fields and nothing else. The channel then waits for a
    change after each key, and tests nothing: a key that gets lost ends the attempt.
    """

    screen: Screen
    """The screen that was read."""
    state: Any
    """The planner's own. It is compared with ``==``: after a key the channel waits until it differs. So it must be
    equal for screens that differ in nothing that matters, such as a clock."""
    shown: bool | None = None
    """Whether the form's own dialog is on screen; None if the planner does not read that. The channel then takes the
    dialog to be there once ``next_step`` returns a first key."""
    pages: frozenset[object] = frozenset()
    """Which pages of the dialog this may be, as values of the planner's own choice, such as the question's index. Two
    views with one of them in common show the same page."""
    cursor_hidden: bool = False
    """Whether the row with the cursor is outside the visible part, so that an arrow key shows no effect."""
    test_key: str = ""
    """An arrow key that certainly moves the cursor on this screen, and does no harm. If a key shows no effect, the
    channel presses it: input is taken in order, so a moved cursor proves that the earlier key was lost. Empty if there
    is none. ``Up`` is pressed only after an arrow key, because in the prompt box it recalls an old prompt."""
    may_show: bool | None = None
    """Whether the form's dialog may be on screen, if only in part. No key goes into a dialog that another open form may
    have drawn. None: as ``shown`` says, and if that says nothing, too, it may."""


class Taken(NamedTuple):
    """One step that was carried out."""

    step: Press | Paste
    """The step, as the planner returned it."""
    view: View
    """What the planner had read from the screen on which it decided it."""


class KeystrokePlanner(Protocol):
    """Decides the next key from what is on screen. Pure functions: no clock, no terminal, no memory of their own.

    The channel calls :meth:`read` for each new screen, and :meth:`next_step` if the last key has shown its effect, or
    was lost: then it is still the last one in ``taken``, and the screen is as before, or as the test key has left it.
    All planners are served alike. One that reads the dialog fills the fields of :class:`View` that say what it saw; one
    that only counts keys returns ``View(screen, screen.lines)`` and keeps its place by ``taken``.
    """

    name: str
    """What ``[answer] planner`` in config.toml names it by."""

    def read(self, screen: Screen, form: AskUserQuestionInput) -> View:
        """Return what ``screen`` shows, seen with ``form`` in mind. Must never raise, on any screen."""

    def next_step(
        self,
        view: View,
        form: AskUserQuestionInput,
        decisions: Sequence[Decision],
        taken: Sequence[Taken],
    ) -> Step:
        """Return what to do on a screen that :meth:`read` has read, to bring ``decisions`` into the dialog of ``form``.

        ``taken`` holds the steps of this delivery so far, oldest first. Must return ``GiveUp`` or ``Wait`` on every
        screen that does not show this form, and ``GiveUp`` before the first key if the decisions cannot be entered.
        Must never raise.
        """

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
        """Describe in words, one line a step, what a freshly opened dialog would get (``answer --dry-run``).

        A planner that refuses returns one line, ``nothing: `` and the reason
        (:func:`hookrouter.answering.forms.outline` writes it).
        """


class AskedDialog(NamedTuple):
    """A dialog that is no form of AskUserQuestion, and what was decided about it."""

    kind: str
    """The kind of its document, such as ``permission``."""
    request: Mapping[str, Any]
    """What is asked, as its document has it: for a permission the ``tool`` and its ``input``."""
    decision: Mapping[str, Any]
    """What was decided: a JSON object with its ``action``."""
    folder: str = ""
    """The working folder of the session, against which the dialog shows paths."""
    others: tuple[Mapping[str, Any], ...] = ()
    """What else the session's client may be asking for at this moment: the request of each other call that has begun
    and not ended, without an ``input`` if only its tool is known."""


@runtime_checkable
class DialogPlanner(Protocol):
    """What a keystroke planner may offer besides: to enter decisions about dialogs that are no questions.

    Its methods are those of :class:`KeystrokePlanner`, with an :class:`AskedDialog` in place of form and decisions, and
    the same must hold for them.
    """

    kinds: tuple[str, ...]
    """The kinds of dialogs that it knows."""

    def read_dialog(self, screen: Screen, asked: AskedDialog) -> View:
        """Return what ``screen`` shows, seen with ``asked`` in mind. Must never raise, on any screen."""

    def next_dialog_step(self, view: View, asked: AskedDialog, taken: Sequence[Taken]) -> Step:
        """Return what to do on a screen that :meth:`read_dialog` has read, to bring the decision into the dialog.

        Must return ``GiveUp`` or ``Wait`` on every screen that may show another call's dialog. Must never raise.
        """

    def outline_dialog(self, asked: AskedDialog) -> list[str]:
        """Describe in words, one line a step, what a freshly opened dialog would get."""


class SeenDialog(NamedTuple):
    """A dialog of the client, of which a planner knows what it is."""

    kind: str
    """What it is, in words, such as ``workspace trust``."""
    rows: tuple[str, ...]
    """What its rows say, without their numbers; none if no row of it can be chosen for certain."""
    body: tuple[str, ...] = ()
    """What it is about: the lines above its rows, without its edge."""
    is_told: bool = False
    """Whether a hook tells of it, so that nobody else need."""


@runtime_checkable
class DialogReader(Protocol):
    """What a keystroke planner may offer besides: to say which of the client's dialogs is on a screen."""

    def seen(self, screen: Screen) -> SeenDialog | None:
        """Return the dialog on ``screen``; None if there is none that it knows. Must never raise, on any screen."""


class AnswerStatus:
    """How a channel's attempt ended: the values of ``AnswerOutcome.status``."""

    DELIVERED = "delivered"
    """Claude Code took the answer; PostToolUse says whether it recorded what was meant."""
    REFUSED = "refused"
    """The channel looked and will not answer: the dialog is not this question's, or not on screen."""
    UNAVAILABLE = "unavailable"
    """The channel cannot serve this session at all; the next channel may."""


class AnswerOutcome(NamedTuple):
    """What a channel did with an answer."""

    status: str
    """One of the values of AnswerStatus."""
    reason: str
    """One sentence for the agent."""
    steps: tuple[str, ...] = ()
    """What was done, one line a step, for the journal."""


class Beside(NamedTuple):
    """What else the client of a dialog may be asking at this moment: one of these may be on the screen instead."""

    forms: tuple[AskUserQuestionInput, ...] = ()
    """The forms of its other questions that are open."""
    requests: tuple[Mapping[str, Any], ...] = ()
    """Its other calls that have begun and not ended, as ``others`` of :class:`AskedDialog` has them."""


class AnswerRequest(NamedTuple):
    """All that a channel needs to deliver one answer."""

    session: str
    """The session's name, as agents and config.toml know it."""
    tool_use_id: str
    """Claude Code's id of the tool call that asks."""
    form: AskUserQuestionInput
    """The form that was asked, as Claude Code sent it."""
    decisions: tuple[Decision, ...]
    """What the agent decided: one for each question, or fewer and a :class:`Chat` as the last."""
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
    store: DocumentStore | None = None
    """Where the channel may keep documents of its own."""
    client_version: tuple[int, ...] | None = None
    """The version of the Claude Code that asks, as its transcript says; None if it does not."""
    stopped: Callable[[], str] = lambda: ""
    """Why the channel must go no further, because a person has paused the session; empty while it may.

    To be asked before each act; the channel then ends with ``REFUSED`` and this reason."""
    is_last: bool = False
    """Whether no other channel is tried after this one."""
    by: str = "agent"
    """Who decided: ``agent`` or ``person``. A pause of the session holds agents back, and no person."""
    kind: str = "question"
    """What is answered: ``question``, or another kind, whose decision is in ``reply`` and has no ``decisions``."""
    reply: Mapping[str, Any] | None = None
    """What the hook that waits beside the dialog is to be handed; None for a form's answers."""
    dialog: AskedDialog | None = None
    """The dialog and the decision, for a planner of keys; None for a form, and for what no keys can enter."""
    beside: Callable[[], Beside] = Beside
    """What else the client may be asking by now: to be asked before each key, as another call may have begun since the
    one before. Raises HookrouterError if that cannot be known; then no key may be pressed."""
    client_pid: int = 0
    """The process id of the client that asks; 0 if it is not known, or is one of another machine or container."""


EVERY_KIND = "*"
"""In ``kinds`` of an answer channel: whatever a plugin brings."""


def serves(channel: object, kind: str) -> bool:
    """Whether an answer channel says that it serves dialogs of this kind."""
    kinds = getattr(channel, "kinds", ("question",))
    return kind in kinds or EVERY_KIND in kinds


class AnswerChannel(Protocol):
    """Brings an answer to Claude Code.

    A channel that can also bring the decisions of other kinds of dialogs has an attribute ``kinds`` that names all that
    it serves, or holds :data:`EVERY_KIND`; without it, it is asked for the answers to questions alone.
    """

    name: str

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        """Deliver the answer, or say why not. Blocks until then; never raises for a dialog or terminal in any state."""


@runtime_checkable
class WaitingChannel(Protocol):
    """What an answer channel may offer besides: to say whether something waits for the answer to a question."""

    def is_waiting(self, store: DocumentStore, session_id: str, form: AskUserQuestionInput) -> bool:
        """Whether an answer to this question would be taken at once. For lists of questions; changes nothing."""


def terminal_backends(plugins: Plugins) -> dict[str, TerminalBackend]:
    """Return the terminal backends that active plugins contribute, by name."""
    return plugins.contributions("terminal_backend")


def keystroke_planners(plugins: Plugins) -> dict[str, KeystrokePlanner]:
    """Return the keystroke planners that active plugins contribute, by name."""
    return plugins.contributions("keystroke_planner")


def answer_channels(plugins: Plugins) -> dict[str, AnswerChannel]:
    """Return the answer channels that active plugins contribute, by name."""
    return plugins.contributions("answer_channel")
