"""Terminals: where Claude Code is drawn, how its screen is read and its keys are pressed.

A plugin contributes a *backend* for one kind of terminal through the hook ``terminal_backend``
(:class:`hookrouter.hookspecs.AnswerSpecs`); :class:`TerminalBackend` says what it must do. The records are named
tuples, because a hook process handles them: attrs is not imported on the way of ``hookrouter run``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.errors import HookrouterError
from hookrouter.util.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._plugins.registry import Plugins

__all__ = [
    "Probe",
    "RunningPane",
    "Screen",
    "StyledScreen",
    "StyledText",
    "TerminalAddress",
    "TerminalBackend",
    "TerminalError",
    "TerminalGone",
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


class RunningPane(NamedTuple):
    """A pane in which a program runs."""

    address: TerminalAddress
    """Where it is."""
    program: str
    """The name of the program in its foreground, such as ``claude``."""
    folder: str
    """That program's working folder; empty if it is not known."""


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


class TerminalBackend:
    """Reads and drives panes of one kind of terminal.

    A backend derives from it and must have ``name``, ``locate``, ``capture``, ``press`` and ``paste``. What else it
    can, it says by the attributes ``can_hold``, ``can_open`` and ``can_style``, and by overriding the rest.

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

    can_hold = False
    """Whether ``hold`` and ``release`` keep other keys out. If they do, a person's key cannot come between a look at
    the dialog and the key that the look decided. Without them such a key can get into a text, or lead that key to
    another page: the answer is then recorded differently, or the form declined, and reported as that."""
    can_open = False
    """Whether there are ``open_pane`` and ``close_pane``, which ``hookrouter demo --terminal NAME`` and
    ``hookrouter doctor --client PATH --terminal NAME`` need, nothing else."""
    can_style = False
    """Whether ``capture_styled`` tells faint text and the cursor's cell from other text. In the prompt box the client
    draws its own hints faint, and what a person typed is not faint. Without it any text in the box counts as a
    person's, unless its words are those of a hint that is known."""

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        """Return the pane in which a process with this environment runs, or None if that is not this terminal.

        Called in the hook process, so it must be quick and import little. Raises TerminalError if the environment
        names a pane that cannot be found.
        """
        raise NotImplementedError

    def capture(self, address: TerminalAddress) -> Screen:
        """Return what the pane shows now.

        Raises TerminalGone if the pane, its server or the program in it does not exist any more.
        """
        raise NotImplementedError

    def press(self, address: TerminalAddress, key: str) -> None:
        """Press one key in this pane and no other, after leaving any mode of the terminal's own (tmux's copy mode).

        Raises TerminalGone, and TerminalError for anything that is no key, or that this terminal cannot press.
        """
        raise NotImplementedError

    def paste(self, address: TerminalAddress, text: str) -> None:
        """Put ``text`` in literally and at once, newlines included, without submitting it; leaves modes as ``press``.

        Raises TerminalGone, and TerminalError for text that is refused.
        """
        raise NotImplementedError

    def probe(self) -> Probe | None:
        """Look, within seconds, whether the terminal's program is installed in a version that can be driven.

        None if that cannot be said. ``hookrouter doctor`` shows it. Called outside any pane too, so a terminal that is
        installed but does not run is usable.
        """
        return None

    def sessions(self, environ: Mapping[str, str]) -> list[str]:  # noqa: ARG002 - for those that override it
        """Return the names of the sessions that a process with this environment would reach; none if none runs.

        ``hookrouter init`` shows them. Raises TerminalError if the terminal cannot be asked.
        """
        return []

    def panes(self, environ: Mapping[str, str]) -> list[RunningPane]:  # noqa: ARG002 - for those that override it
        """Return the panes that a process with this environment would reach; none if none runs. Starts none.

        A client whose session has not begun, because a dialog of its start waits, is found by its pane alone. Raises
        TerminalError if the terminal cannot be asked.
        """
        return []

    def capture_styled(self, address: TerminalAddress) -> StyledScreen:
        """Return what the pane shows now, as ``capture`` does, with the style of each part. Raises what it raises."""
        raise NotImplementedError

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        """Keep every key and paste but this object's own out of the pane, for ``seconds`` from now or until released.

        Returns whether the pane was held without a gap since the call before, so False for a first call. The hold must
        end in time even if this process is killed; ``press`` and ``paste`` must raise TerminalError if it has ended
        unexpectedly. Raises TerminalError, and TerminalGone.
        """
        raise NotImplementedError

    def release(self, address: TerminalAddress) -> None:
        """End a hold of this object; does nothing if there is none. Raises nothing for a pane that is gone."""

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        """Have ``press`` and ``paste`` of this object act only while the program runs that now is in the foreground.

        A client that dies while keys are typed leaves its pane to the shell that started it, which would read a key
        that was decided before. If another program runs, they raise TerminalGone, and nothing arrives: whether one does
        must be found out by the terminal itself, as a part of the act. ``client_pid`` is the client's process id, 0 if
        it is not known: where a shell without job control has started it, the terminal calls the shell its foreground,
        so they also raise TerminalGone once that process has ended. It holds until the next call for this pane, or the
        end of a hold. Raises TerminalGone and TerminalError. A backend that cannot tell does nothing.
        """

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        """Run ``command``, an argument list and no shell's line, in a new pane, without a user's configuration.

        The program gets ``environ`` and what the terminal itself adds, so that ``locate`` finds the pane from its
        environment; its working folder is ``folder``. ``size`` is how many columns and rows the pane should have.
        Raises TerminalError.
        """
        raise NotImplementedError

    def close_pane(self, address: TerminalAddress) -> None:
        """End the pane and the program in it; does nothing if it is gone."""
        raise NotImplementedError


def terminal_backends(plugins: Plugins) -> dict[str, TerminalBackend]:
    """Return the terminal backends that active plugins contribute, by name."""
    return plugins.contributions("terminal_backend", base=TerminalBackend)
