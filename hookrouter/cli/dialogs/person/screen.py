"""A form or a menu on the whole screen of a terminal, through prompt_toolkit: keys go to it, lines come from it.

prompt_toolkit comes with the extra ``hookrouter[terminal]``; without it :mod:`plain` asks line by line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.data_structures import Point
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPressEvent

    from hookrouter.cli.dialogs.person.view import Body

__all__ = ["show"]

_NAMED = {
    "up": ["up", "c-p"],
    "down": ["down", "c-n"],
    "left": ["left", "c-b"],
    "right": ["right", "c-f"],
    "home": ["home", "c-a"],
    "end": ["end", "c-e"],
    "tab": ["tab"],
    "back-tab": ["s-tab"],
    "enter": ["enter", "c-j"],
    "escape": ["escape"],
    "backspace": ["backspace"],
    "delete": ["delete"],
    "clear": ["c-u"],
    "leave": ["c-c", "c-d"],
}
"""The keys of the model, and by which of prompt_toolkit's names they come."""

_STYLE = Style.from_dict({"strong": "bold", "faint": "ansibrightblack", "cursor": "bold", "rule": "ansibrightblack"})
_WITHOUT_COLOUR = Style.from_dict({"strong": "bold", "cursor": "bold"})

_LOOK_SECONDS = 1.0
"""How often to look whether somebody else has answered meanwhile."""
_ESCAPE_SECONDS = 0.5
"""How long the rest of a key that begins with Escape may take, over a slow connection."""


class View(Protocol):
    """What is shown: a value, of which every key makes another one."""

    @property
    def end(self) -> str:
        """How the person has ended; empty while they have not."""

    @property
    def page(self) -> int:
        """The number of the page that is shown; another one is shown from its beginning."""

    @property
    def asks_to_send(self) -> bool:
        """Whether Enter may send, which must not be before all was in sight."""

    def pressed(self: V, key: str) -> V:
        """Return the next one after one of the keys of :mod:`form`."""

    def typed(self: V, text: str) -> V:
        """Return the next one after a text."""

    def head(self, width: int) -> str:
        """Return the line above the page."""

    def body(self, width: int) -> Body:
        """Return the lines of the page, which may be more than fit."""

    def foot(self, width: int, hidden: str = "") -> list[str]:
        """Return the lines below the page; ``hidden`` tells of lines that are out of sight."""


V = TypeVar("V", bound=View)


def show(view: V, *, has_colour: bool, is_over: Callable[[], str] = lambda: "") -> tuple[V, str]:
    """Let a person work until they end; return the last view, and why it was ended by others (empty if it was not).

    ``is_over`` says why the question cannot be answered any more; empty while it can. It must not raise.
    """
    screen = _Screen(view, is_over)
    application: Application[None] = Application(
        layout=Layout(screen.window),
        key_bindings=screen.bindings(),
        style=_STYLE if has_colour else _WITHOUT_COLOUR,
        color_depth=ColorDepth.DEPTH_4_BIT if has_colour else ColorDepth.MONOCHROME,
        full_screen=True,
        refresh_interval=_LOOK_SECONDS,
        before_render=screen.look,
    )
    application.ttimeoutlen = application.timeoutlen = _ESCAPE_SECONDS
    application.run()
    return screen.view, screen.over


class _Screen(Generic[V]):
    """What is shown, and which of its lines are in sight."""

    def __init__(self, view: V, is_over: Callable[[], str]) -> None:
        self.view = view
        self.over = ""
        self._is_over = is_over
        self._top = 0
        self._follows = False
        """Whether the lines in sight follow the cursor; a page is shown from its beginning at first."""
        self._room = 1
        self._caret: Point | None = Point(0, 0)
        """Where the caret is; None if its line is out of sight."""
        control = FormattedTextControl(self._drawn, focusable=True, get_cursor_position=self._cursor)
        self.window = Window(control, wrap_lines=False, always_hide_cursor=False)

    def _cursor(self) -> Point:
        return self._caret or Point(0, 0)

    def look(self, application: Application[None]) -> None:
        """End if the question is over."""
        if not self.over and not self.view.end and application.is_running and (over := self._is_over()):
            self.over = over
            application.exit()

    def bindings(self) -> KeyBindings:
        """Return what each key does."""
        bindings = KeyBindings()
        for name, keys in _NAMED.items():
            for key in keys:
                bindings.add(key)(self._presses(name))
        bindings.add("escape", "enter")(self._presses("newline"))
        bindings.add("pageup")(lambda event: self._scroll(event, -1))
        bindings.add("pagedown")(lambda event: self._scroll(event, 1))
        bindings.add("c-l")(lambda event: event.app.renderer.clear())
        bindings.add(Keys.Any)(lambda event: self._change(event, self.view.typed(event.data)))
        bindings.add(Keys.BracketedPaste)(lambda event: self._change(event, self.view.typed(event.data)))
        return bindings

    def _presses(self, name: str) -> Callable[[KeyPressEvent], None]:
        return lambda event: self._press(event, name)

    def _press(self, event: KeyPressEvent, name: str) -> None:
        if name == "enter" and self.view.asks_to_send and self._caret is None:
            # Nothing is sent before all of it was in sight.
            self._follows = True
            event.app.invalidate()
        else:
            self._change(event, self.view.pressed(name))

    def _change(self, event: KeyPressEvent, view: V) -> None:
        before, self.view = self.view, view
        self._follows = view.page == before.page
        if not self._follows:
            self._top = 0
        if view.end and not event.app.is_done:
            event.app.exit()

    def _scroll(self, event: KeyPressEvent, step: int) -> None:
        self._follows = False
        self._top += step * max(self._room - 1, 1)
        event.app.invalidate()

    def _drawn(self) -> StyleAndTextTuples:
        size = get_app().output.get_size()
        width, height = max(size.columns - 1, 10), size.rows
        page = self.view.body(width)
        top_lines = [("class:strong", self.view.head(width)), ("class:rule", "-" * width)]
        room = height - len(top_lines) - len(self.view.foot(width, "x"))
        self._room = max(room, 1)
        self._top = self._in_sight(len(page.lines), page.first, page.last)
        shown = page.lines[self._top : self._top + self._room]
        below = self.view.foot(width, self._hidden(len(page.lines)))
        drawn = [*top_lines, *((f"class:{style}" if style else "", text) for style, text in shown)]
        drawn += [("", "")] * (height - len(drawn) - len(below))
        drawn += [("class:faint", line) for line in below]
        row = page.caret[0] - self._top
        self._caret = Point(page.caret[1], row + len(top_lines)) if 0 <= row < self._room else None
        fragments: StyleAndTextTuples = []
        for number, (style, text) in enumerate(drawn[:height]):
            fragments += [("", "\n")] if number else []
            fragments.append((style, text))
        return fragments

    def _in_sight(self, count: int, first: int, last: int) -> int:
        """Return the first line to show."""
        top = self._top
        if self._follows:
            top = max(top, last - self._room + 1)
            top = min(top, first)
        return max(0, min(top, count - self._room))

    def _hidden(self, count: int) -> str:
        end = self._top + self._room
        if self._top == 0 and end >= count:
            return ""
        return f"lines {self._top + 1} to {min(end, count)} of {count}; PageUp and PageDown show the others"
