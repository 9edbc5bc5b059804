"""A person at the keyboard of a session whose queue is delivered: types, pastes, looks around, and answers dialogs."""

from __future__ import annotations

import collections
import contextlib
import random
import threading
import time
from typing import TYPE_CHECKING

from hookrouter._sandbox.client import dialog_is_open, prompt_box
from hookrouter._sandbox.tmux_server import TmuxError, TmuxPane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from live.queues.place import Place

__all__ = ["Person"]

SIZES = ((120, 40), (80, 24), (200, 50), (100, 30))
_SHORT, _LONG = (0.0, 0.15), (0.3, 1.5)
_AGENTS = "enter to return"
_VIEW = "Showing detailed transcript"


class Person:
    """Does one thing after the other in a thread, for one ``with`` block. What is typed has numbers: ``p0007``."""

    def __init__(self, place: Place, seed: int, pause: tuple[float, float] = (0.2, 2.5)) -> None:
        """``seed`` decides what is done; ``pause`` is between two things, in seconds."""
        self._place = place
        self._random = random.Random(seed)
        self._pause = pause
        self._count = 0
        self._is_over = threading.Event()
        self._at_rest = threading.Lock()
        self._thread = threading.Thread(target=self._go_on)
        self.done: collections.Counter[str] = collections.Counter()
        """How often each thing was done."""
        self.faults: list[str] = []
        """What went wrong with the person's own part."""

    def __enter__(self) -> Person:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """Keep the person from beginning anything else; they have left the prompt box empty."""
        with self._at_rest:
            self._tidy_up()
            yield

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._is_over.wait(seconds)

    def _go_on(self) -> None:
        acts: dict[str, Callable[[], object]] = {
            "typed and deleted": self._type_and_delete,
            "typed and submitted": self._type_and_submit,
            "pasted and deleted": self._paste_and_delete,
            "Escape": self._escape,
            "opened /model": self._open_model,
            "transcript view": self._view,
            "agents view": self._agents,
            "changed the mode of vim": self._vim,
            "resized": self._resize,
            "single keys": self._keys,
        }
        while not self._is_over.wait(self._random.uniform(*self._pause)):
            with self._at_rest:
                try:
                    if self._answer():
                        continue
                    if not self._tidy_up():
                        # What an item has brought, such as a prompt that Escape puts back, is no text of the person's.
                        continue
                    name = self._random.choice(list(acts))
                    acts[name]()
                    self.done[name] += 1
                    self._tidy_up()
                except TmuxError:
                    # The pane is gone for a moment, or for good: whoever runs this sees that.
                    continue

    # What there is to see

    @property
    def _pane(self) -> TmuxPane:
        pane = self._place.queued.client.pane
        assert isinstance(pane, TmuxPane)
        return pane

    def _wait_a_bit(self, span: tuple[float, float] = _SHORT) -> None:
        self._is_over.wait(self._random.uniform(*span))

    def _words(self) -> str:
        self._count += 1
        return f"p{self._count:04d} by hand"

    # What a person does

    def _type(self, text: str) -> None:
        for character in text:
            self._pane.type(character)
            self._wait_a_bit((0.0, 0.08))

    def _type_and_delete(self) -> None:
        words = self._words()
        self._type(words)
        self._wait_a_bit(_LONG)
        for _ in words:
            self._pane.press("BSpace")

    def _type_and_submit(self) -> None:
        self._type(self._words())
        self._wait_a_bit(_LONG)
        self._pane.press("Enter")

    def _paste_and_delete(self) -> None:
        lines = "\n".join(self._words() for _ in range(self._random.choice((1, 2, 6))))
        server = self._place.queued.server
        server.run("load-buffer", "-b", "person", "-", stdin=lines)
        server.run("paste-buffer", "-p", "-r", "-d", "-b", "person", "-t", self._pane.target)
        self._wait_a_bit(_LONG)

    def _escape(self) -> None:
        for _ in range(self._random.choice((1, 1, 2))):
            self._pane.press("Escape")
            self._wait_a_bit()

    def _open_model(self) -> None:
        self._type("/model")
        self._wait_a_bit(_LONG)
        self._pane.press("Enter")
        self._wait_a_bit(_LONG)
        self._pane.press("Escape")

    def _view(self) -> None:
        self._pane.press("C-o")
        self._wait_a_bit(_LONG)

    def _agents(self) -> None:
        self._pane.press("Left")
        self._wait_a_bit(_LONG)

    def _vim(self) -> None:
        """Keys that change the mode in vim mode, and otherwise are text."""
        self._pane.press("Escape")
        self._wait_a_bit()
        self._type(self._random.choice(("i", "A", "o", "dd", "hl")))
        self._wait_a_bit(_LONG)

    def _resize(self) -> None:
        width, height = self._random.choice(SIZES)
        self._place.queued.server.run("resize-window", "-t", self._pane.target, "-x", str(width), "-y", str(height))

    def _keys(self) -> None:
        for _ in range(self._random.randint(1, 4)):
            self._pane.press(self._random.choice(("x", "Left", "Right", "Down", "C-u", "Tab", "End", "?", "BSpace")))
            self._wait_a_bit()

    def _answer(self) -> bool:
        """Answer the dialog that Claude has opened, if there is one, by its first row, its second, or Escape."""
        screen = self._pane.capture()
        if not dialog_is_open(screen) or "Select model" in screen or "Switch model?" in screen:
            return False
        self._wait_a_bit(_LONG)
        for key in self._random.choice((("Enter",), ("Down", "Enter"), ("Enter",), ("Escape",))):
            self._pane.press(key)
            self._wait_a_bit((0.2, 0.4))
        self.done["answered a dialog"] += 1
        return True

    def _tidy_up(self) -> bool:
        """Leave what was opened, and take out what was typed, as a person does who has changed their mind.

        Returns whether all is tidy now.
        What Claude has asked stays open, and so does what a queue's item is doing: keys do not get in then.
        """
        end = time.monotonic() + 20
        while time.monotonic() < end and not self._is_over.is_set():
            with contextlib.suppress(TmuxError):
                if not (key := self._next_to_tidy()):
                    return True
                for one in key:
                    self._pane.press(one)
                # Ctrl+C twice in a moment would end the client, and Escape twice at once is another key.
                time.sleep(2.0 if "C-c" in key else 0.7)
        return False

    def _next_to_tidy(self) -> tuple[str, ...]:
        """Return what is to be pressed next; nothing if all is tidy."""
        screen = self._pane.capture()
        if _VIEW in screen:
            return ("C-o",)
        if _AGENTS in screen:
            return ("Enter",)
        box = prompt_box(screen)
        if box is None:
            is_own = "Select model" in screen or "Switch model?" in screen or "Settings" in screen
            return ("Escape",) if is_own else ()
        text = box.text.strip()
        if not text or text.startswith(("Try ", "Press up", "Resend", "Once fixed")):
            return ()
        if not self._is_own_text(text):
            return ()
        return ("C-c",)

    def _is_own_text(self, text: str) -> bool:
        """Whether what stands in the box is no item's that is being typed."""
        queue = self._place.queued.queue
        item = queue.under_way
        return item is None or item.state != "delivering"
