"""What every terminal backend must do, tried on the real terminal."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pytest

from hookrouter.terminals import (
    Probe,
    Screen,
    StyledText,
    TerminalAddress,
    TerminalBackend,
    TerminalError,
    TerminalGone,
)
from hookrouter.testing.contracts import _pane_program
from hookrouter.testing.contracts._gone import GoneContract
from hookrouter.testing.contracts._holding import HoldingContract
from hookrouter.testing.contracts._optional import misspelt_methods, overrides
from hookrouter.testing.contracts._panes import (
    Pane,
    Patience,
    TerminalHost,
    assert_gone,
    assert_refused,
    pasted,
    runs,
    shown,
    starter,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CHARACTERS", "NAMED_KEYS", "TEXTS", "TerminalBackendContract", "TerminalHost"]


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
_RUN_PANE = f"runpy.run_path({_pane_program.__file__!r}, run_name='__main__')"

_OTHER_KEYS = ["C-c", "F1", "ab", "", "\n", "\x1b", "\x7f", "\x9b", "kill-server", "quit"]
_CONTROL_TEXTS = ["", "a\x1b[201~b", "a\rb", "a\x03", "a\x7f", "a\x9b", "a\ud800"]


_TOGETHER = {
    "can_hold": ("hold", "release"),
    "can_open": ("open_pane", "close_pane"),
    "can_style": ("capture_styled",),
}
"""What a backend says that it can, and the methods that it must have then, and not otherwise."""


class TerminalBackendContract(GoneContract, HoldingContract):
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
    ) -> Callable[..., Pane]:
        """Return a function that starts the contract's program in a new pane."""
        return starter(backend, host, tmp_path_factory)

    def test_the_environment_inside_a_pane_names_it(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        one, two = start("first"), start("second")
        for pane, text in ((one, "first"), (two, "second")):
            assert pane.address.backend == backend.name
            assert pane.address.session
            assert backend.locate(pane.environ) == pane.address
            assert shown(backend, pane, text).lines[0] == text
        assert one.address != two.address
        assert one.address.session != two.address.session, "two sessions have one name"

    def test_outside_the_terminal_there_is_no_pane(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        start()
        assert backend.locate({}) is None
        assert backend.locate({"PATH": os.defpath, "HOME": "/", "TERM": "xterm-256color"}) is None

    def test_a_pane_that_is_gone_is_not_located(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        kept, closed = start("kept"), start("closed")
        host.close(closed.address)
        with pytest.raises(TerminalGone):
            backend.locate(closed.environ)
        assert backend.locate(kept.environ) == kept.address
        host.stop()
        with pytest.raises(TerminalError):
            backend.locate(kept.environ)

    def test_capture_shows_the_visible_rows(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        rows = ["plain   ", "\x1b[1;31mbold\x1b[0m", "日本語 ❯ ☐ ☒ ✔ ● → é ─│", "", "x" * 60 + "wrapped", "end  "]
        pane = start("\n".join(rows), width=60, height=20)
        screen = shown(backend, pane, "end")
        assert screen.lines[:7] == ("plain", "bold", rows[2], "", "x" * 60, "wrapped", "end")
        assert (len(screen.lines), screen.width, screen.height) == (20, 60, 20)
        assert not any(line != line.rstrip() for line in screen.lines)

    def test_capture_shows_nothing_that_was_scrolled_away(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        pane = start("\n".join(f"row {number} 日本" for number in range(100)), height=10)
        screen = shown(backend, pane, "row 99 日本")
        assert screen.lines == tuple(f"row {number} 日本" for number in range(90, 100))

    def test_capture_shows_the_alternate_screen_of_a_program_that_uses_one(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        pane = start("under\x1b[?1049h\x1b[2J\x1b[Habove")
        assert "under" not in shown(backend, pane, "above").lines

    def test_a_styled_capture_tells_faint_text_and_exchanged_colours(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        if not backend.can_style:
            return
        pane = start(_STYLED, width=60, height=12)
        plain = shown(backend, pane, "end")
        styled = backend.capture_styled(pane.address)
        assert styled.screen[:3] == plain[:3]
        assert tuple("".join(part.text for part in row) for row in styled.rows) == plain.lines
        assert styled.rows[: len(_STYLED_ROWS)] == _STYLED_ROWS
        assert all(part.text for row in styled.rows for part in row)

    def test_capture_follows_a_resize(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        pane = start("ready 日本")
        shown(backend, pane, "ready 日本")
        for width, height in ((60, 20), (120, 40)):
            host.resize(pane.address, width, height)
            screen = shown(backend, pane, f"size {width}x{height}")
            assert (screen.width, screen.height, len(screen.lines)) == (width, height, height)

    @pytest.mark.parametrize("kind", ["named", "characters"])
    def test_every_key_arrives(self, backend: TerminalBackend, start: Callable[..., Pane], kind: str) -> None:
        pane = start()
        before = b""
        for key in NAMED_KEYS if kind == "named" else CHARACTERS:
            case = f"press({key!r})"
            if key in self.refused:
                assert_refused(partial(backend.press, pane.address, key), case, self.refused[key])
            else:
                backend.press(pane.address, key)
                pane.wait_received(*(before + sent for sent in NAMED_KEYS.get(key, (key.encode(),))), case=case)
            # What follows shows that nothing else came.
            before = pane.received()
            backend.press(pane.address, "n")
            before += b"n"
            pane.wait_received(before, case=f"{case} and press('n')")

    def test_arrows_have_the_bytes_of_the_mode_that_the_program_has_chosen(
        self, backend: TerminalBackend, start: Callable[..., Pane]
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

    def test_any_other_key_is_refused(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        pane = start()
        for key in _OTHER_KEYS:
            assert_refused(partial(backend.press, pane.address, key), f"press({key!r})")
        backend.press(pane.address, "n")
        pane.wait_received(b"n")

    @pytest.mark.parametrize("name", TEXTS)
    def test_a_text_arrives_exactly_in_one_bracketed_paste(
        self, backend: TerminalBackend, start: Callable[..., Pane], name: str
    ) -> None:
        pane = start()
        if name in self.refused:
            assert_refused(
                lambda: backend.paste(pane.address, TEXTS[name]), f"paste of the text {name!r}", self.refused[name]
            )
            backend.press(pane.address, "n")
            pane.wait_received(b"n")
            return
        backend.paste(pane.address, TEXTS[name])
        expected = pasted(TEXTS[name])
        pane.wait_received(expected)
        backend.press(pane.address, "n")
        pane.wait_received(expected + b"n")

    def test_a_program_that_asked_for_no_brackets_gets_none(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        pane = start(plain=True)
        backend.paste(pane.address, "one; two")
        if not self.knows_brackets:
            pane.wait_received(b"\x1b[200~one; two\x1b[201~")
            return
        pane.wait_received(b"one; two")
        backend.paste(pane.address, "\nthree")
        pane.wait_received(b"one; two\nthree", b"one; two\rthree")

    def test_pastes_and_keys_arrive_in_order(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        pane = start()
        backend.paste(pane.address, "one\ntwo")
        backend.press(pane.address, "Enter")
        backend.paste(pane.address, "three")
        backend.press(pane.address, ";")
        pane.wait_received(pasted("one\ntwo") + b"\r" + pasted("three") + b";")

    @pytest.mark.parametrize("text", _CONTROL_TEXTS)
    def test_text_that_would_act_as_keys_is_refused(
        self, backend: TerminalBackend, start: Callable[..., Pane], text: str
    ) -> None:
        pane = start()
        assert_refused(lambda: backend.paste(pane.address, text), f"paste({text!r})")
        backend.press(pane.address, "n")
        pane.wait_received(b"n")

    def test_a_mode_of_the_terminal_is_left_before_keys_and_text(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
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
            expected += pasted("text")
            pane.wait_received(expected, case=f"paste('text') in the mode {mode!r}")
        shown(backend, pane, "ready")

    def test_no_other_pane_gets_anything(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        first, meant, last = start("first"), start("meant"), start("last")
        backend.press(meant.address, "n")
        backend.paste(meant.address, "yes")
        meant.wait_received(b"n" + pasted("yes"))
        for other, text in ((first, "first"), (last, "last")):
            assert shown(backend, other, text).lines[0] == text
            backend.press(other.address, "x")
            other.wait_received(b"x")

    def test_optional_methods_are_whole_and_spelt_right(self, backend: TerminalBackend) -> None:
        assert misspelt_methods(backend, TerminalBackend) == []
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

    def test_sessions_that_run_are_listed(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        if not overrides(backend, TerminalBackend, "sessions"):
            return
        one, two = start("first"), start("second")
        assert {one.address.session, two.address.session} <= set(backend.sessions(one.environ))

    def test_panes_that_run_are_listed(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
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
        patience = Patience(backend)
        first = tmp_path_factory.mktemp("opened")
        second = tmp_path_factory.mktemp("opened $HOME; 'x' %n")
        # A list of one word with a blank in it is what a shell would take apart.
        program = second / "the program"
        program.write_text(f"#!{sys.executable}\nimport runpy, sys\nsys.argv[1:] = [{str(second)!r}]\n{_RUN_PANE}\n")
        program.chmod(0o700)
        opened: dict[str, TerminalAddress] = {}
        ids: dict[str, int] = {}
        commands = {str(first): [sys.executable, _pane_program.__file__, str(first)], str(second): [str(program)]}
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
                pane = Pane(address, inside, folder / "received", patience)
                screen = shown(backend, pane, "ready")
                assert (screen.width, screen.height, len(screen.lines)) == (*size, size[1])
                backend.press(address, "n")
                backend.paste(address, "one\ntwo")
                pane.wait_received(b"n" + pasted("one\ntwo"))
            backend.close_pane(opened[str(first)])
            patience.wait(lambda: not runs(ids[str(first)]), "the end of the program in a pane that was closed")
            assert_gone(backend, opened[str(first)])
            assert "ready" in backend.capture(opened[str(second)]).lines[0], "the other pane was closed too"
        finally:
            for address in opened.values():
                backend.close_pane(address)
        # Once more of panes that are gone: nothing.
        for address in opened.values():
            backend.close_pane(address)
        patience.wait(lambda: not any(map(runs, ids.values())), "the end of the programs")

    def test_where_the_caller_sits_does_not_matter(
        self, backend: TerminalBackend, start: Callable[..., Pane], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        meant, own = start("meant 日本"), start("own")
        for name, value in own.environ.items():
            if name not in ("PATH", "HOME"):
                monkeypatch.setenv(name, value)
        for name in ("LC_ALL", "LANG"):
            monkeypatch.setenv(name, "C")
        assert backend.locate(meant.environ) == meant.address
        assert shown(backend, meant, "meant 日本").lines[0] == "meant 日本"
        backend.paste(meant.address, "日本")
        meant.wait_received(pasted("日本"))
        assert own.received() == b""
