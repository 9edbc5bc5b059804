"""What every terminal backend must do, tried on the real terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections import Counter
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar

import pytest

from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.terminals import (
    Probe,
    Screen,
    StyledText,
    TerminalAddress,
    TerminalBackend,
    TerminalError,
    TerminalGone,
)
from hookrouter.testing.contracts import pane_program
from hookrouter.testing.contracts.optional import misspelt_methods, overrides
from hookrouter.util.claude_process import is_gone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["CHARACTERS", "NAMED_KEYS", "TEXTS", "TerminalBackendContract", "TerminalHost"]

T = TypeVar("T")

_PATIENCE = (10.0, 2.0, 2.0, 0.5)
"""Seconds to wait for something to show; the next value after each time that it did not, so that a backend which does
nothing right fails soon, and one that is only slow on a busy machine does not."""

NAMED_KEYS: Mapping[str, tuple[bytes, ...]] = {
    "Enter": (b"\r",),
    "Escape": (b"\x1b",),
    "Tab": (b"\t",),
    "BTab": (b"\x1b[Z",),
    "Space": (b" ",),
    "Up": (b"\x1b[A", b"\x1bOA"),
    "Down": (b"\x1b[B", b"\x1bOB"),
    "Right": (b"\x1b[C", b"\x1bOC"),
    "Left": (b"\x1b[D", b"\x1bOD"),
    "Home": (b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"\x1b[7~"),
    "End": (b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"\x1b[8~"),
    "BSpace": (b"\x7f", b"\x08"),
    "C-e": (b"\x05",),
    "C-s": (b"\x13",),
    "C-u": (b"\x15",),
}
"""Every named key, with what a program may read for it."""

CHARACTERS = [*"anZ07 ;-#~\\^$'\"%!?{}[]()&|<>*`@:,./=+_", "ß", "é", "日", "❯"]
"""The characters that are pressed as keys."""

TEXTS: Mapping[str, str] = {
    "word": "yes",
    "dash": "-l looks like an option",
    "trailing-semicolon": "do this; then that;",
    "only-semicolon": ";",
    "quotes": 'it\'s "quoted" `here` $HOME \\ #{pane_id} ^A \\033 %n',
    "lines": "first\nsecond\n\nfourth",
    "final-newline": "one line\n",
    "tabs": "a\tb\n\tc",
    "cjk": "日本語テキスト ✓ Ω naïve",
    "emoji": "ok 👍 family 👨‍👩‍👧‍👦 flag 🇩🇪 end",
    "long": ("-a long line; with 日本 and 👍 in it\n\t" * 200)[:4999] + ";",
}
"""Texts by name; each must arrive exactly, in one bracketed paste."""

_STYLED = (
    "plain\n\x1b[2mfaint\x1b[0m and \x1b[7mturned\x1b[0m\n"
    "❯\u00a0\x1b[7mP\x1b[0;2mress 日本 up\x1b[22m typed\x1b[0m\n\n"
    "\x1b[1;31;44mbold\x1b[0m\x1b[38;5;246;2mgrey\x1b[39mstill\x1b[0m\n\x1b[7;2mboth\x1b[27mone\x1b[0m\nend"
)
_STYLED_ROWS = (
    (StyledText("plain"),),
    (StyledText("faint", is_dim=True), StyledText(" and "), StyledText("turned", is_reversed=True)),
    (
        StyledText("❯\u00a0"),
        StyledText("P", is_reversed=True),
        StyledText("ress 日本 up", is_dim=True),
        StyledText(" typed"),
    ),
    (),
    (StyledText("bold"), StyledText("greystill", is_dim=True)),
    (StyledText("both", is_dim=True, is_reversed=True), StyledText("one", is_dim=True)),
    (StyledText("end"),),
)
"""A text with escape sequences, and how its rows are drawn."""

_GIVEN = {"PATH": os.defpath, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
"""What a program in a pane that the backend opens is given besides its own variables."""
_RUN_PANE = f"runpy.run_path({pane_program.__file__!r}, run_name='__main__')"

_OTHER_KEYS = ["C-c", "F1", "ab", "", "\n", "\x1b", "\x7f", "\x9b", "kill-server", "quit"]
_CONTROL_TEXTS = ["", "a\x1b[201~b", "a\rb", "a\x03", "a\x7f", "a\x9b", "a\ud800"]


class TerminalHost(Protocol):
    """The real terminal that an author gives to the contract: private, with nothing of the user's in it."""

    def start(self, session: str, command: Sequence[str], width: int, height: int) -> None:
        """Start a program, given as an argument list, in a new pane of this many columns and rows.

        ``session`` is a name for it. Programs started one after the other share a server, if the terminal has one.
        """

    def resize(self, address: TerminalAddress, width: int, height: int) -> None:
        """Give the pane another size."""

    def enter_mode(self, address: TerminalAddress, mode: str) -> None:
        """Put the pane into one of the contract's ``modes``, as a person would."""

    def close(self, address: TerminalAddress) -> None:
        """Close the pane, whatever runs in it, and wait until it is closed."""

    def type_text(self, address: TerminalAddress, text: str) -> None:
        """Type letters in the pane, as a person would; asked only for a backend that ``can_hold``.

        What has been typed must be in the pane, or kept out of it, when it returns.
        """

    def stop(self) -> None:
        """End the terminal with all its panes, and wait until it has ended."""


class _Patience:
    """How long to wait for a backend; less and less each time in vain."""

    _in_vain: ClassVar[Counter[type]] = Counter()

    def __init__(self, backend: TerminalBackend) -> None:
        self._kind = type(backend)

    def wait(self, probe: Callable[[], T | None], what: str, last: Callable[[], str] | None = None) -> T:
        times = min(self._in_vain[self._kind], len(_PATIENCE) - 1)
        try:
            return wait_until(probe, _PATIENCE[times], what, last)
        except WaitTimeoutError:
            self._in_vain[self._kind] += 1
            raise


class _Pane(NamedTuple):
    """A pane with the contract's program in it."""

    address: TerminalAddress
    environ: Mapping[str, str]
    received_file: Path
    patience: _Patience

    def received(self) -> bytes:
        return self.received_file.read_bytes() if self.received_file.exists() else b""

    def wait_received(self, *expected: bytes, case: str = "") -> None:
        """Wait until exactly one of ``expected`` has arrived; ``case`` is what was done, for the failure."""
        of = f", after {case}" if case else ""
        longest = max(map(len, expected))
        self.patience.wait(
            lambda: self.received() in expected or len(self.received()) > longest,
            f"{expected[0][:200]!r} in the pane{of}",
            lambda: repr(self.received()[:400]),
        )
        assert self.received() in expected, f"the program read something else than {expected[0][:200]!r}{of}"


def starter(
    backend: TerminalBackend, host: TerminalHost, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., _Pane]:
    """Return a function that starts the contract's program, showing a text, and locates it.

    ``session`` is the session's name, a new one by default; ``plain`` keeps it from asking for bracketed paste; with
    ``behind`` another program has started it, which shows what it reads once it has ended: as a shell does, whose
    foreground the program was (``"jobs"``), or as one without job control (``"script"``).
    """
    numbers = count(1)
    patience = _Patience(backend)

    def start(
        text: str = "ready",
        width: int = 80,
        height: int = 24,
        session: str = "",
        *,
        plain: bool = False,
        behind: str = "",
    ) -> _Pane:
        folder = tmp_path_factory.mktemp("pane")
        if plain:
            (folder / "plain").touch()
        (folder / "text").write_bytes(text.replace("\n", "\r\n").encode())
        command = [sys.executable, pane_program.__file__, str(folder), *[behind] * bool(behind)]
        host.start(session or f"contract-{next(numbers)}", command, width, height)
        (folder / "sized").touch()
        environ_file = folder / "environ.json"
        patience.wait(environ_file.exists, "the program in its pane")
        environ = json.loads(environ_file.read_text(encoding="utf-8"))
        address = backend.locate(environ)
        assert address is not None, f"the backend does not know its own pane: {environ}"
        return _Pane(address, environ, folder / "received", patience)

    return start


_TOGETHER = {
    "can_hold": ("hold", "release"),
    "can_open": ("open_pane", "close_pane"),
    "can_style": ("capture_styled",),
}
"""What a backend says that it can, and the methods that it must have then, and not otherwise."""


class TerminalBackendContract:
    """Subclass it, and give two fixtures, in the class or in its module.

    ``backend`` is the backend; ``host`` is a :class:`TerminalHost`, which the fixture ends after the test.
    """

    modes: ClassVar[Sequence[str]] = ("copy",)
    """The modes of the terminal's own in which keys do not reach the program; empty if it has none."""
    knows_brackets: ClassVar[bool] = True
    """Whether the terminal can tell if the program asked for bracketed paste. One that cannot must bracket every text,
    because Claude Code asks for it, and a text without brackets would be typed line by line."""
    knows_cursor_mode: ClassVar[bool] = True
    """Whether the terminal can tell which bytes a program wants for arrows. One that cannot must send ``ESC [ A`` to
    ``ESC [ D``, those of a program that has not asked for others."""
    refused: ClassVar[Mapping[str, str]] = {}
    """What the terminal cannot take: a named key, a character or the name of a text in ``TEXTS``, with a regular
    expression that the reason in the TerminalError matches. Nothing of it may then arrive."""

    @pytest.fixture
    def start(
        self, backend: TerminalBackend, host: TerminalHost, tmp_path_factory: pytest.TempPathFactory
    ) -> Callable[..., _Pane]:
        """Return a function that starts the contract's program in a new pane."""
        return starter(backend, host, tmp_path_factory)

    def test_the_environment_inside_a_pane_names_it(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        one, two = start("first"), start("second")
        for pane, text in ((one, "first"), (two, "second")):
            assert pane.address.backend == backend.name
            assert pane.address.session
            assert backend.locate(pane.environ) == pane.address
            assert _shown(backend, pane, text).lines[0] == text
        assert one.address != two.address
        assert one.address.session != two.address.session, "two sessions have one name"

    def test_outside_the_terminal_there_is_no_pane(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        start()
        assert backend.locate({}) is None
        assert backend.locate({"PATH": os.defpath, "HOME": "/", "TERM": "xterm-256color"}) is None

    def test_a_pane_that_is_gone_is_not_located(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        kept, closed = start("kept"), start("closed")
        host.close(closed.address)
        with pytest.raises(TerminalGone):
            backend.locate(closed.environ)
        assert backend.locate(kept.environ) == kept.address
        host.stop()
        with pytest.raises(TerminalError):
            backend.locate(kept.environ)

    def test_capture_shows_the_visible_rows(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        shown = ["plain   ", "\x1b[1;31mbold\x1b[0m", "日本語 ❯ ☐ ☒ ✔ ● → é ─│", "", "x" * 60 + "wrapped", "end  "]
        pane = start("\n".join(shown), width=60, height=20)
        screen = _shown(backend, pane, "end")
        assert screen.lines[:7] == ("plain", "bold", shown[2], "", "x" * 60, "wrapped", "end")
        assert (len(screen.lines), screen.width, screen.height) == (20, 60, 20)
        assert not any(line != line.rstrip() for line in screen.lines)

    def test_capture_shows_nothing_that_was_scrolled_away(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        pane = start("\n".join(f"row {number} 日本" for number in range(100)), height=10)
        screen = _shown(backend, pane, "row 99 日本")
        assert screen.lines == tuple(f"row {number} 日本" for number in range(90, 100))

    def test_capture_shows_the_alternate_screen_of_a_program_that_uses_one(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        pane = start("under\x1b[?1049h\x1b[2J\x1b[Habove")
        assert "under" not in _shown(backend, pane, "above").lines

    def test_a_styled_capture_tells_faint_text_and_exchanged_colours(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        if not backend.can_style:
            return
        pane = start(_STYLED, width=60, height=12)
        plain = _shown(backend, pane, "end")
        styled = backend.capture_styled(pane.address)
        assert styled.screen[:3] == plain[:3]
        assert tuple("".join(part.text for part in row) for row in styled.rows) == plain.lines
        assert styled.rows[: len(_STYLED_ROWS)] == _STYLED_ROWS
        assert all(part.text for row in styled.rows for part in row)

    def test_capture_follows_a_resize(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        pane = start("ready 日本")
        _shown(backend, pane, "ready 日本")
        for width, height in ((60, 20), (120, 40)):
            host.resize(pane.address, width, height)
            screen = _shown(backend, pane, f"size {width}x{height}")
            assert (screen.width, screen.height, len(screen.lines)) == (width, height, height)

    @pytest.mark.parametrize("kind", ["named", "characters"])
    def test_every_key_arrives(self, backend: TerminalBackend, start: Callable[..., _Pane], kind: str) -> None:
        pane = start()
        before = b""
        for key in NAMED_KEYS if kind == "named" else CHARACTERS:
            case = f"press({key!r})"
            if key in self.refused:
                _assert_refused(partial(backend.press, pane.address, key), case, self.refused[key])
            else:
                backend.press(pane.address, key)
                pane.wait_received(*(before + sent for sent in NAMED_KEYS.get(key, (key.encode(),))), case=case)
            # What follows shows that nothing else came.
            before = pane.received()
            backend.press(pane.address, "n")
            before += b"n"
            pane.wait_received(before, case=f"{case} and press('n')")

    def test_arrows_have_the_bytes_of_the_mode_that_the_program_has_chosen(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        arrows = {key: NAMED_KEYS[key] for key in ("Up", "Down", "Right", "Left") if key not in self.refused}
        for chosen, text in ((False, "ready"), (True, "\x1b[?1hready")):
            pane, before = start(text), b""
            for key, (normal, application) in arrows.items():
                backend.press(pane.address, key)
                pane.wait_received(before + normal, before + application, case=f"press({key!r})")
                before += application if chosen and self.knows_cursor_mode else normal
                asked = "application cursor keys" if chosen else "no mode"
                assert pane.received() == before, f"press({key!r}) in a program that has chosen {asked}"

    def test_any_other_key_is_refused(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        pane = start()
        for key in _OTHER_KEYS:
            _assert_refused(partial(backend.press, pane.address, key), f"press({key!r})")
        backend.press(pane.address, "n")
        pane.wait_received(b"n")

    @pytest.mark.parametrize("name", TEXTS)
    def test_a_text_arrives_exactly_in_one_bracketed_paste(
        self, backend: TerminalBackend, start: Callable[..., _Pane], name: str
    ) -> None:
        pane = start()
        if name in self.refused:
            _assert_refused(
                lambda: backend.paste(pane.address, TEXTS[name]), f"paste of the text {name!r}", self.refused[name]
            )
            backend.press(pane.address, "n")
            pane.wait_received(b"n")
            return
        backend.paste(pane.address, TEXTS[name])
        expected = _pasted(TEXTS[name])
        pane.wait_received(expected)
        backend.press(pane.address, "n")
        pane.wait_received(expected + b"n")

    def test_a_program_that_asked_for_no_brackets_gets_none(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        pane = start(plain=True)
        backend.paste(pane.address, "one; two")
        if not self.knows_brackets:
            pane.wait_received(b"\x1b[200~one; two\x1b[201~")
            return
        pane.wait_received(b"one; two")
        backend.paste(pane.address, "\nthree")
        pane.wait_received(b"one; two\nthree", b"one; two\rthree")

    def test_pastes_and_keys_arrive_in_order(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        pane = start()
        backend.paste(pane.address, "one\ntwo")
        backend.press(pane.address, "Enter")
        backend.paste(pane.address, "three")
        backend.press(pane.address, ";")
        pane.wait_received(_pasted("one\ntwo") + b"\r" + _pasted("three") + b";")

    @pytest.mark.parametrize("text", _CONTROL_TEXTS)
    def test_text_that_would_act_as_keys_is_refused(
        self, backend: TerminalBackend, start: Callable[..., _Pane], text: str
    ) -> None:
        pane = start()
        _assert_refused(lambda: backend.paste(pane.address, text), f"paste({text!r})")
        backend.press(pane.address, "n")
        pane.wait_received(b"n")

    def test_a_mode_of_the_terminal_is_left_before_keys_and_text(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        pane = start()
        expected = b""
        for mode in self.modes:
            host.enter_mode(pane.address, mode)
            backend.press(pane.address, "n")
            expected += b"n"
            pane.wait_received(expected, case=f"press('n') in the mode {mode!r}")
            host.enter_mode(pane.address, mode)
            backend.paste(pane.address, "text")
            expected += _pasted("text")
            pane.wait_received(expected, case=f"paste('text') in the mode {mode!r}")
        _shown(backend, pane, "ready")

    def test_no_other_pane_gets_anything(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        first, meant, last = start("first"), start("meant"), start("last")
        backend.press(meant.address, "n")
        backend.paste(meant.address, "yes")
        meant.wait_received(b"n" + _pasted("yes"))
        for other, text in ((first, "first"), (last, "last")):
            assert _shown(backend, other, text).lines[0] == text
            backend.press(other.address, "x")
            other.wait_received(b"x")

    def test_a_pane_that_is_gone_is_said_to_be_gone(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        kept, closed = start("kept"), start("closed")
        _shown(backend, closed, "closed")
        host.close(closed.address)
        _assert_gone(backend, closed.address)
        assert _shown(backend, kept, "kept").lines[0] == "kept"
        backend.press(kept.address, "n")
        kept.wait_received(b"n")

    def test_an_address_never_leads_to_a_later_pane(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        kept, closed = start("kept"), start("closed", session="again")
        host.close(closed.address)
        later = start("later", session="again")
        assert later.address != closed.address
        _assert_gone(backend, closed.address)
        assert _shown(backend, kept, "kept").lines[0] == "kept"
        backend.press(later.address, "n")
        later.wait_received(b"n")

    def test_a_program_that_has_ended_is_gone(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        start("kept")
        ended = start("ended")
        os.kill(int(ended.environ["PANE_PROGRAM"]), signal.SIGKILL)

        def gone() -> bool:
            try:
                backend.capture(ended.address)
            except TerminalGone:
                return True
            return False

        # A terminal may keep the pane; every key is preceded by a look, which is what must tell.
        ended.patience.wait(gone, "TerminalGone")

    def test_a_terminal_that_has_ended_is_gone(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        pane = start()
        backend.capture(pane.address)
        host.stop()
        _assert_gone(backend, pane.address)

    def test_optional_methods_are_whole_and_spelt_right(self, backend: TerminalBackend) -> None:
        assert misspelt_methods(backend, TerminalBackend, ()) == []
        for can, names in _TOGETHER.items():
            assert {overrides(backend, TerminalBackend, name) for name in names} == {getattr(backend, can)}, can

    def test_probe_says_that_this_terminal_can_be_used(self, backend: TerminalBackend) -> None:
        probe = backend.probe()
        if probe is None:
            return
        assert isinstance(probe, Probe)
        assert (probe.usable, probe.fix) == (True, "")
        assert probe.message.strip()
        assert "\n" not in probe.message

    def test_sessions_that_run_are_listed(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        if not overrides(backend, TerminalBackend, "sessions"):
            return
        one, two = start("first"), start("second")
        assert {one.address.session, two.address.session} <= set(backend.sessions(one.environ))

    def test_panes_that_run_are_listed(self, backend: TerminalBackend, start: Callable[..., _Pane]) -> None:
        if not overrides(backend, TerminalBackend, "panes"):
            return
        one, two = start("first"), start("second")
        listed = {pane.address: pane for pane in backend.panes(one.environ)}
        for pane in (one, two):
            assert pane.address in listed
            assert isinstance(backend.capture(pane.address), Screen)
        assert all(pane.program and "\n" not in pane.program + pane.folder for pane in listed.values())

    def test_a_pane_that_it_opens_runs_the_program_as_told(
        self, backend: TerminalBackend, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not backend.can_open:
            return
        monkeypatch.setenv("HOOKROUTER_CONTRACT_LEAK", "of the caller's own")
        patience = _Patience(backend)
        first = tmp_path_factory.mktemp("opened")
        second = tmp_path_factory.mktemp("opened $HOME; 'x' %n")
        # A list of one word with a blank in it is what a shell would take apart.
        program = second / "the program"
        program.write_text(f"#!{sys.executable}\nimport runpy, sys\nsys.argv[1:] = [{str(second)!r}]\n{_RUN_PANE}\n")
        program.chmod(0o700)
        opened: dict[str, TerminalAddress] = {}
        ids: dict[str, int] = {}
        commands = {str(first): [sys.executable, pane_program.__file__, str(first)], str(second): [str(program)]}
        try:
            for folder, size in ((first, (90, 20)), (second, (61, 33))):
                (folder / "text").write_bytes(b"ready")
                (folder / "sized").touch()
                marked = {**_GIVEN, "HOOKROUTER_CONTRACT_GIVEN": f"a  b;\"$HOME' %n {folder.name}"}
                address = opened[str(folder)] = backend.open_pane(commands[str(folder)], marked, str(folder), size)
                environ_file = folder / "environ.json"
                patience.wait(environ_file.exists, f"the program {commands[str(folder)]} in the pane that was opened")
                inside = json.loads(environ_file.read_text(encoding="utf-8"))
                ids[str(folder)] = int(inside["PANE_PROGRAM"])
                assert {name: inside.get(name) for name in marked} == marked
                assert "HOOKROUTER_CONTRACT_LEAK" not in inside, "the pane got the caller's own environment"
                assert os.path.samefile(inside["PANE_FOLDER"], folder)
                assert address.session, "the session has no name"
                assert backend.locate(inside) == address
                pane = _Pane(address, inside, folder / "received", patience)
                screen = _shown(backend, pane, "ready")
                assert (screen.width, screen.height, len(screen.lines)) == (*size, size[1])
                backend.press(address, "n")
                backend.paste(address, "one\ntwo")
                pane.wait_received(b"n" + _pasted("one\ntwo"))
            backend.close_pane(opened[str(first)])
            patience.wait(lambda: not _runs(ids[str(first)]), "the end of the program in a pane that was closed")
            _assert_gone(backend, opened[str(first)])
            assert "ready" in backend.capture(opened[str(second)]).lines[0], "the other pane was closed too"
        finally:
            for address in opened.values():
                backend.close_pane(address)
        # Once more of panes that are gone: nothing.
        for address in opened.values():
            backend.close_pane(address)
        patience.wait(lambda: not any(map(_runs, ids.values())), "the end of the programs")

    def test_what_the_holder_sends_arrives_in_a_held_pane(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        if not backend.can_hold:
            return
        pane = start()
        backend.release(pane.address)
        assert backend.hold(pane.address, 30) is False, "a first hold was not there before"
        assert backend.hold(pane.address, 30) is True, "a hold that is prolonged has no gap"
        backend.press(pane.address, "n")
        backend.paste(pane.address, "text")
        pane.wait_received(b"n" + _pasted("text"))
        backend.release(pane.address)
        backend.release(pane.address)
        backend.press(pane.address, "y")
        pane.wait_received(b"n" + _pasted("text") + b"y")
        assert backend.hold(pane.address, 30) is False
        backend.release(pane.address)

    def test_a_held_pane_takes_nothing_from_others(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        if not backend.can_hold:
            return
        held, other = start(), start()
        backend.hold(held.address, 30)
        for pane in (held, other):
            host.type_text(pane.address, "x")
        other.wait_received(b"x", case="type_text('x') in a pane that nobody holds")
        backend.press(held.address, "n")
        backend.paste(held.address, "text")
        host.type_text(held.address, "x")
        backend.press(held.address, "y")
        held.wait_received(b"n" + _pasted("text") + b"y", case="type_text('x') in a held pane")
        backend.release(held.address)
        host.type_text(held.address, "z")
        held.wait_received(b"n" + _pasted("text") + b"yz", case="release() and type_text('z')")

    def test_a_hold_that_is_over_takes_the_holders_keys_no_more(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., _Pane]
    ) -> None:
        if not backend.can_hold:
            return
        pane = start()
        backend.hold(pane.address, 0.1)

        def typed() -> bool:
            host.type_text(pane.address, "x")
            return b"x" in pane.received()

        pane.patience.wait(typed, "what a person types once a hold of 0.1 s has run out")
        for case, act in (
            ("press('n')", partial(backend.press, pane.address, "n")),
            ("paste('text')", partial(backend.paste, pane.address, "text")),
        ):
            _assert_refused(act, f"{case} after the hold has run out")
        assert backend.hold(pane.address, 30) is False, "a hold that has run out is a gap"
        backend.press(pane.address, "y")
        backend.release(pane.address)
        pane.patience.wait(lambda: pane.received().endswith(b"y"), "press('y') in a pane that is held anew")
        assert pane.received().strip(b"x") == b"y", "what was refused arrived"

    def test_what_is_sent_reaches_nobody_once_the_client_has_ended(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        if not overrides(backend, TerminalBackend, "guard_program"):
            return
        pane = start(behind="script")
        client = int(pane.environ["PANE_PROGRAM"])
        backend.guard_program(pane.address, client)
        backend.press(pane.address, "n")
        pane.wait_received(b"n")
        os.kill(client, signal.SIGKILL)
        _shown(backend, pane, "what follows")
        for act in (partial(backend.press, pane.address, "Enter"), partial(backend.paste, pane.address, "text")):
            assert isinstance(_raised(act), TerminalGone), "what was meant for a client reached the shell that ran it"
        backend.guard_program(pane.address)
        backend.press(pane.address, "x")
        _shown(backend, pane, "read b'x'")

    def test_what_is_sent_reaches_only_the_program_that_was_there(
        self, backend: TerminalBackend, start: Callable[..., _Pane]
    ) -> None:
        if not overrides(backend, TerminalBackend, "guard_program"):
            return
        pane = start(behind="jobs")
        backend.guard_program(pane.address)
        backend.press(pane.address, "n")
        backend.paste(pane.address, "text")
        pane.wait_received(b"n" + _pasted("text"))
        os.kill(int(pane.environ["PANE_PROGRAM"]), signal.SIGKILL)
        _shown(backend, pane, "what follows")
        for act in (partial(backend.press, pane.address, "Enter"), partial(backend.paste, pane.address, "text")):
            assert isinstance(_raised(act), TerminalGone), "what was meant for a program reached the one after it"
        backend.guard_program(pane.address)
        backend.press(pane.address, "x")
        _shown(backend, pane, "read b'x'")

    def test_where_the_caller_sits_does_not_matter(
        self, backend: TerminalBackend, start: Callable[..., _Pane], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        meant, own = start("meant 日本"), start("own")
        for name, value in own.environ.items():
            if name not in ("PATH", "HOME"):
                monkeypatch.setenv(name, value)
        for name in ("LC_ALL", "LANG"):
            monkeypatch.setenv(name, "C")
        assert backend.locate(meant.environ) == meant.address
        assert _shown(backend, meant, "meant 日本").lines[0] == "meant 日本"
        backend.paste(meant.address, "日本")
        meant.wait_received(_pasted("日本"))
        assert own.received() == b""


def _runs(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody has waited for yet has."""
    return not is_gone(pid)


def _pasted(text: str) -> bytes:
    return b"\x1b[200~" + text.encode() + b"\x1b[201~"


def _shown(backend: TerminalBackend, pane: _Pane, line: str) -> Screen:
    """Wait until the pane shows a line, and return its screen."""
    seen: list[Screen] = []

    def probe() -> Screen | None:
        seen[:] = [backend.capture(pane.address)]
        return seen[0] if line in seen[0].lines else None

    return pane.patience.wait(probe, f"the line {line!r}", lambda: "\n".join(seen[0].lines))


def _assert_refused(act: Callable[[], None], case: str, reason: str = "") -> None:
    """Check that ``act``, which is called ``case`` in failures, raises TerminalError with a reason that matches."""
    error = _raised(act)
    said = f"{type(error).__name__}: {error}"
    assert isinstance(error, TerminalError), f"{case} must raise TerminalError: {said}"
    assert not isinstance(error, TerminalGone), f"{case} must raise TerminalError, and the pane is there: {said}"
    assert re.search(reason, str(error)), f"{case}: the reason does not match {reason!r}: {said}"


def _assert_gone(backend: TerminalBackend, address: TerminalAddress) -> None:
    acts: dict[str, Callable[[], object]] = {
        "capture()": lambda: backend.capture(address),
        "press('Enter')": lambda: backend.press(address, "Enter"),
        "paste('text')": lambda: backend.paste(address, "text"),
    }
    for case, act in acts.items():
        error = _raised(act)
        said = f"{type(error).__name__}: {error}"
        assert isinstance(error, TerminalGone), f"{case} of what is gone must raise TerminalGone: {said}"
        assert re.search(r"\w", str(error)), f"{case} of what is gone must say why"


def _raised(act: Callable[[], object]) -> TerminalError | None:
    try:
        act()
    except TerminalError as error:
        return error
    return None
