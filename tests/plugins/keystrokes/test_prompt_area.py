"""What is read of the prompt area: on recorded screens of three clients, and on screens that nobody has seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookrouter.terminals import Screen, StyledText
from hookrouter_keystrokes.prompting.area import AreaKind, PromptArea, read_area
from hookrouter_keystrokes.prompting.comparing import is_part, shows, shows_end
from hookrouter_keystrokes.prompting.pieces import guarded, pieces, untypable
from hookrouter_tmux.styles import styled_rows

RECORDED = Path(__file__).parents[2] / "data" / "prompts"
SCREENS = sorted(RECORDED.glob("*/*.txt"))
DIALOGS = sorted(RECORDED.parent.glob("dialogs/*/*.txt")) + sorted(RECORDED.parent.glob("blocked/*/*.txt"))

Rows = tuple[tuple[StyledText, ...], ...]


def recorded(path: Path) -> tuple[Screen, Rows]:
    width, height = (60, 20) if path.stem.endswith("-60x20") else (100, 30)
    rows = styled_rows(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    rows += ((),) * (height - len(rows))
    return Screen(tuple("".join(part.text for part in row) for row in rows), width, height), rows


def named(name: str, *versions: str) -> list[Path]:
    """Return the recorded screens of one kind, in panes of both sizes, of these versions or of all."""
    found = [path for path in SCREENS if path.stem.removesuffix("-60x20") == name]
    return [path for path in found if not versions or path.parent.name in versions]


def areas(name: str, *versions: str) -> list[PromptArea]:
    found = [read_area(*recorded(path)) for path in named(name, *versions)]
    assert found, name
    return found


def test_an_idle_box_is_empty() -> None:
    for name in ("idle", "after-ctrl-c", "help"):
        for area in areas(name):
            assert area.is_empty, (name, area)
            assert not area.is_busy


def test_a_client_that_works_is_seen() -> None:
    for name in ("busy", "busy-draft", "busy-queued", "busy-tool", "compacting"):
        for area in areas(name):
            assert area.is_box, (name, area)
            assert area.is_busy, (name, area)
    assert all(area.rows == () for area in areas("busy-queued")), "a hint of the client is no text"
    assert all(area.rows == ("typed while busy",) for area in areas("busy-draft"))


def test_a_draft_is_read_as_it_was_typed() -> None:
    for area in areas("draft"):
        assert shows(area, "a person writes this")
        assert not area.is_cut
    for area in areas("draft-lines"):
        assert area.rows == ("first", "  second line", "third")


def test_a_hint_is_known_by_its_words_too() -> None:
    for path in named("busy-queued"):
        assert read_area(recorded(path)[0]).rows == ()


def test_the_shell_mode_is_seen() -> None:
    for area in areas("shell"):
        assert (area.glyph, area.rows) == ("!", ("echo hi",))
    for area in areas("shell-empty"):
        assert (area.glyph, area.rows, area.is_empty) == ("!", (), False)


def test_a_draft_that_was_put_away_is_seen() -> None:
    for area in areas("stashed"):
        assert area.is_empty
        assert area.is_stashed


def test_the_end_of_a_long_text_is_read() -> None:
    text = " ".join(f"w{number:04d}" for number in range(600))[:2800]
    for area in areas("long"):
        assert area.is_cut
        assert shows(area, text)
        assert is_part(area, text)
        assert not shows(area, text[:-1])
        assert not shows(area, text + "x")


def test_the_menu_says_what_enter_would_take() -> None:
    assert {area.menu for area in areas("menu")} == {"/clear"}
    assert {area.menu for area in areas("menu-below-prose")} == {"/clear"}
    assert {area.menu for area in areas("menu-other-name", "2.1.250")} == {"/clear (new)"}
    assert {area.menu for area in areas("idle")} == {""}
    assert {area.menu for area in areas("menu-part")} == {"/gsd:next"}
    assert all(area.menu != "/nope" for area in areas("menu-none"))
    assert {area.menu for area in areas("menu-other-name", "2.1.150", "2.1.330")} == {"/usage (cost)"}
    assert {area.menu for area in areas("file-menu")} == {""}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("transcript-view", AreaKind.VIEW),
        ("search", AreaKind.VIEW),
        ("agents-view", AreaKind.VIEW),
        ("picker-model", AreaKind.DIALOG),
    ],
)
def test_views_and_dialogs_are_no_box(name: str, kind: str) -> None:
    for area in areas(name):
        assert area.kind == kind
        assert area.why


def test_panels_are_no_box() -> None:
    for area in areas("panel-status") + areas("switch-model", "2.1.150", "2.1.330"):
        assert not area.is_box


def test_vim_is_read_as_any_other() -> None:
    assert all(area.is_empty for area in areas("vim-insert") + areas("vim-normal"))
    assert all(area.rows == ("in normal mode",) for area in areas("vim-normal-text"))


def test_no_dialog_of_the_client_is_taken_for_an_empty_box() -> None:
    for path in DIALOGS:
        if path.stem in ("bash-closed",):
            continue
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        screen = Screen((*lines, *[""] * (36 - len(lines))), 110, max(36, len(lines)))
        assert not read_area(screen).is_empty, path


IMITATIONS = [
    ["─" * 60, "❯\u00a0", "─" * 60],
    ["─" * 60, "❯\u00a0", "─" * 60, "  ? for shortcuts"],
    ["─── ↑ 4 more ────", "  text", "─" * 60],
    ["✻ Mulling… (1s)", "", "─" * 60, "!\u00a0ls", "─" * 60],
]
DIALOG_ENDS = [
    [" Do you want to proceed?", " ❯ 1. Yes", "   2. No", "", " Esc to cancel · Tab to amend"],
    ["❯ 1. One", "  2. Two", "─" * 60, "  3. Chat about this", "", "Enter to select · ↑/↓ to navigate · Esc to cancel"],
    ["   ❯ Deny — drop it", "     Deliver this message"],
    ["  Exit plan mode?", "", "  Claude wants to exit plan mode", "", "  ❯ 1. Yes", "    2. No"],
    ["  ←/→ to switch · Esc to close"],
    ["─" * 60, "  Showing detailed transcript · ctrl+o to toggle · ? for shortcuts"],
]


@given(
    st.lists(st.text(max_size=30), max_size=6),
    st.sampled_from(IMITATIONS),
    st.lists(st.text(max_size=30), max_size=3),
    st.sampled_from(DIALOG_ENDS),
)
def test_a_picture_of_a_box_in_a_dialog_is_no_box(
    before: list[str], picture: list[str], between: list[str], end: list[str]
) -> None:
    lines = [line.replace("\n", " ") for line in [*before, *picture, *between, *end]]
    screen = Screen(tuple(line.rstrip(" ") for line in lines), 60, len(lines))
    assert not read_area(screen).is_box


@given(
    st.lists(st.text(alphabet=st.sampled_from("❯>! \u00a0─▔✻…·ab12./()↑[]\t"), max_size=20) | st.text(max_size=40)),
    st.integers(1, 120),
)
def test_any_screen_is_read(lines: list[str], width: int) -> None:
    screen = Screen(tuple(lines), width, len(lines))
    styles = tuple((StyledText(line, is_dim=bool(at % 2)),) if line else () for at, line in enumerate(lines))
    for area in (read_area(screen), read_area(screen, styles)):
        assert area.is_box or area.why


TEXTS = st.text(alphabet=st.sampled_from("ab \n日本é/.-👍"), min_size=1, max_size=200).map(str.strip).filter(bool)


def wrapped(text: str, width: int) -> list[str]:
    """Wrap a text as the client does: at blanks, which are then left out, or anywhere in a long word."""
    rows: list[str] = []
    for line in text.split("\n"):
        row = ""
        for word in line.split(" "):
            while len(word) > width:
                if row:
                    rows.append(row.rstrip())
                    row = ""
                rows.append(word[:width])
                word = word[width:]
            if row and len(row) + len(word) > width:
                rows.append(row.rstrip())
                row = ""
            row += f"{word} "
        rows.append(row.rstrip())
    return rows


@given(TEXTS, st.integers(5, 60))
def test_a_wrapped_text_shows_itself_and_nothing_longer(text: str, width: int) -> None:
    rows = wrapped(text, width)
    # A row of blanks alone looks like an empty line.
    assume(sum(not row for row in rows) == sum(not line.strip() for line in text.split("\n")))
    assert shows_end(rows, text, whole=True)
    assert shows_end(rows[len(rows) // 2 :], text, whole=False)
    assert not shows_end(rows, f"{text}x", whole=True)
    assert not shows_end(rows, f"x{text}", whole=True)


def test_blanks_that_fill_a_row_are_not_taken_for_an_empty_line() -> None:
    assert not shows_end(["aaaaa", "", "aaaaa"], "aaaaa  aaaaa", whole=True)
    assert shows_end(["aaaaa", "", "aaaaa"], "aaaaa\n\naaaaa", whole=True)


@given(TEXTS, st.integers(20, 100), st.integers(2, 12))
def test_pieces_are_the_text_and_none_becomes_a_chip(text: str, columns: int, rows: int) -> None:
    parts = list(pieces(text, columns, rows))
    assert "".join(parts) == text
    assert all(part and len(part) <= 800 and part.count("\n") <= 2 for part in parts)


def test_what_cannot_be_typed_is_refused_with_the_reason() -> None:
    for text, why in (
        ("a\tb", "a tab"),
        ("e\u0301", "NFC"),
        ("x" * 15_001, "15001 characters"),
        ("a\u200bb", "U+200B"),
        ("see [Pasted text #1 +7 lines]", "pasted in this session"),
        ("a" + " " * 70 + "b", "blanks"),
    ):
        assert why in untypable(text), text
    for text in ("👨\u200d👩\u200d👧", "日本語", "a\u00a0b", "[Pasted text]", "x" * 15_000, "א ב"):
        assert untypable(text) == "", text


def test_a_blank_keeps_enter_from_doing_something_else() -> None:
    assert guarded("ends in \\") == "ends in \\ "
    assert guarded("look at @file") == "look at @file "
    assert guarded("run /clear") == "run /clear "
    assert guarded("/clear") == "/clear"
    assert guarded("see src/x.py") == "see src/x.py"
