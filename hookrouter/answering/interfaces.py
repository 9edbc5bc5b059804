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

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter._plugins.registry import Plugins
    from hookrouter.answering.decisions import Decision
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend
    from hookrouter.tools import AskUserQuestionInput

__all__ = [
    "EVERY_KIND",
    "AnswerChannel",
    "AnswerOutcome",
    "AnswerRequest",
    "AnswerStatus",
    "AskedDialog",
    "Beside",
    "Done",
    "Effect",
    "GiveUp",
    "KeystrokePlanner",
    "Paste",
    "Press",
    "SeenDialog",
    "Step",
    "Taken",
    "View",
    "Wait",
    "answer_channels",
    "find_planner",
    "keystroke_planners",
    "seen_dialog",
]


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


class KeystrokePlanner:
    """Decides the next key from what is on screen. Pure functions: no clock, no terminal, no memory of their own.

    A planner derives from it and must have ``name``. One that enters answers to questions overrides ``read``,
    ``next_step`` and ``outline``; one that enters decisions about other dialogs names them in ``kinds`` and overrides
    ``read_dialog``, ``next_dialog_step`` and ``outline_dialog``; one that knows the client's dialogs by sight says so
    by ``sees_dialogs`` and overrides ``seen``. What it does not override refuses. No method may raise, on any screen.

    The channel calls :meth:`read` for each new screen, and :meth:`next_step` if the last key has shown its effect, or
    was lost: then it is still the last one in ``taken``, and the screen is as before, or as the test key has left it.
    All planners are served alike. One that reads the dialog fills the fields of :class:`View` that say what it saw; one
    that only counts keys returns ``View(screen, screen.lines)`` and keeps its place by ``taken``.
    """

    name: str
    """What ``[answer] planner`` in config.toml names it by."""
    kinds: tuple[str, ...] = ()
    """The kinds of other dialogs about which it can enter decisions."""
    sees_dialogs = False
    """Whether ``seen`` says which of the client's dialogs is on a screen."""

    def read(self, screen: Screen, form: AskUserQuestionInput) -> View:  # noqa: ARG002 - for those that override it
        """Return what ``screen`` shows, seen with ``form`` in mind."""
        return View(screen, screen.lines, shown=False)

    def next_step(
        self,
        view: View,  # noqa: ARG002 - as above
        form: AskUserQuestionInput,  # noqa: ARG002
        decisions: Sequence[Decision],  # noqa: ARG002
        taken: Sequence[Taken],  # noqa: ARG002
    ) -> Step:
        """Return what to do on a screen that :meth:`read` has read, to bring ``decisions`` into the dialog of ``form``.

        ``taken`` holds the steps of this delivery so far, oldest first. Must return ``GiveUp`` or ``Wait`` on every
        screen that does not show this form, and ``GiveUp`` before the first key if the decisions cannot be entered.
        """
        return GiveUp(self._refusal("question"))

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:  # noqa: ARG002 - as above
        """Describe in words, one line a step, what a freshly opened dialog would get (``answer --dry-run``).

        A planner that refuses returns one line, ``nothing: `` and the reason
        (:func:`hookrouter.answering.forms.outline` writes it).
        """
        return [f"nothing: {self._refusal('question')}"]

    def read_dialog(self, screen: Screen, asked: AskedDialog) -> View:  # noqa: ARG002 - for those that override it
        """Return what ``screen`` shows, seen with ``asked`` in mind, which is of one of its ``kinds``."""
        return View(screen, screen.lines, shown=False)

    def next_dialog_step(self, view: View, asked: AskedDialog, taken: Sequence[Taken]) -> Step:  # noqa: ARG002 - as above
        """Return what to do on a screen that :meth:`read_dialog` has read, to bring the decision into the dialog.

        Must return ``GiveUp`` or ``Wait`` on every screen that may show another call's dialog.
        """
        return GiveUp(self._refusal(asked.kind))

    def outline_dialog(self, asked: AskedDialog) -> list[str]:
        """Describe in words, one line a step, what a freshly opened dialog would get; refuse as ``outline`` does."""
        return [f"nothing: {self._refusal(asked.kind)}"]

    def seen(self, screen: Screen) -> SeenDialog | None:  # noqa: ARG002 - for those that override it
        """Return the client's dialog on ``screen``; None if there is none that it knows."""
        return None

    def _refusal(self, kind: str) -> str:
        return f"the planner {self.name} knows no dialog of the kind {kind}"


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


class AnswerChannel:
    """Brings an answer to Claude Code.

    A channel derives from it and must have ``name`` and ``deliver``. What else it can, it says by ``kinds``, and by
    ``hands_over`` with ``is_waiting``.
    """

    name: str
    """What ``[answer] channels`` in config.toml lists it by."""
    kinds: tuple[str, ...] = ("question",)
    """The kinds of dialogs whose decisions it can bring; with :data:`EVERY_KIND` among them, those of any kind."""
    hands_over = False
    """Whether it hands the answer to something that waits for it, as ``is_waiting`` says, and cannot bring it else."""

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        """Deliver the answer, or say why not. Blocks until then; never raises for a dialog or terminal in any state."""
        raise NotImplementedError

    def is_waiting(self, store: DocumentStore, session_id: str, form: AskUserQuestionInput) -> bool:  # noqa: ARG002 - for those that override it
        """Whether an answer to this question would be taken at once. For lists of questions; changes nothing."""
        return False

    def serves(self, kind: str) -> bool:
        """Whether it can bring decisions about dialogs of this kind."""
        return kind in self.kinds or EVERY_KIND in self.kinds


def keystroke_planners(plugins: Plugins) -> dict[str, KeystrokePlanner]:
    """Return the keystroke planners that active plugins contribute, by name."""
    return plugins.contributions("keystroke_planner", base=KeystrokePlanner)


def find_planner(plugins: Plugins, name: str, kind: str) -> KeystrokePlanner | None:
    """Return the planner that ``[answer] planner`` names; for a kind of dialogs that it does not know, one that does.

    None if there is none of that name. So a plugin with a kind of its own brings a planner for it.
    """
    planners = keystroke_planners(plugins)
    named = planners.get(name)
    if named is None or kind in named.kinds:
        return named
    return next((planner for planner in planners.values() if kind in planner.kinds), named)


def seen_dialog(plugins: Plugins, name: str) -> Callable[[Screen], SeenDialog | None] | None:
    """Return what says which of the client's dialogs is on a screen; None if the planner of this name cannot.

    The planner is asked first, then the others that can, in plugin order: those of kinds that it does not know. Of one
    that several know, who says that it is told of by others (:attr:`SeenDialog.is_told`) is right.
    """
    planners = keystroke_planners(plugins)
    named = planners.get(name)
    if named is None or not named.sees_dialogs:
        return None
    readers = [named, *(one for one in planners.values() if one is not named and one.sees_dialogs)]

    def seen_on(screen: Screen) -> SeenDialog | None:
        found = [seen for one in readers if (seen := one.seen(screen)) is not None]
        return next((one for one in found if one.is_told), found[0] if found else None)

    return seen_on


def answer_channels(plugins: Plugins) -> dict[str, AnswerChannel]:
    """Return the answer channels that active plugins contribute, by name."""
    return plugins.contributions("answer_channel", base=AnswerChannel)
