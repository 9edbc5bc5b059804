"""Make the pictures of the manual and the README: ``python -m scripts.generate.pictures [FOLDER]``.

Below FOLDER, by default ``docs/pictures`` in the source tree: the page for people as Debian's Chromium shows it, served
by a real router for a home that :mod:`scripts.generate.pictured_home` fills, and a recorded run of ``hookrouter demo``
(``demo.cast``, an asciicast) with its drawing (``demo.svg``). Needs chromium, tmux and the extra ``dev``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.program import script_argv
from scripts.generate.pictured_home import fill
from scripts.generate.terminal_picture import draw, record

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from support.page import Served

__all__ = ["PICTURES", "Picture", "main", "make_page_pictures", "make_recording"]

_REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = _REPOSITORY / "docs" / "pictures"


class Picture(NamedTuple):
    """One picture of the page."""

    name: str
    """Its file, without ``.png``."""
    path: str
    """What it shows."""
    width: int = 880
    height: int = 660
    scheme: str = "light"
    """``light`` or ``dark``."""
    is_review: bool = False
    """Whether an answer is entered, and shown before it is sent."""


PICTURES = (
    Picture("waiting-light", "/"),
    Picture("waiting-dark", "/", scheme="dark"),
    Picture("phone", "/", 360, 640, is_review=True),
    Picture("sessions", "/sessions"),
    Picture("history", "/history"),
    Picture("statistics", "/statistics"),
)


def main(arguments: list[str]) -> int:
    """Make all of them; the exit code is 2 for words that are no folder."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        sys.stderr.write("usage: python -m scripts.generate.pictures [FOLDER]\n")
        return 2
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    make_page_pictures(folder)
    make_recording(folder)
    return 0


def make_page_pictures(folder: Path) -> None:
    """Write the pictures of the page."""
    # What serves a page to a browser is the tests', whether these run or not.
    sys.path[:0] = [str(_REPOSITORY / "tests")] if str(_REPOSITORY / "tests") not in sys.path else []
    from support.page import Home, Served, chromium

    with TemporaryDirectory() as place:
        own = {"HOME": place, "TZ": "UTC", "LANG": "C.UTF-8"}
        (Path(place) / "home").mkdir(mode=0o700)
        home = Home(Path(place) / "home", environ=own, config='\n[[agents]]\nid = "night-shift"\ngateway = "inbox"\n')
        fill(home, Path(place))
        with Served(home.environ) as served, chromium() as browser:
            for picture in PICTURES:
                _take(picture, served, browser, folder)


def make_recording(folder: Path) -> None:
    """Write the recorded demo, and its drawing."""
    environ = {**os.environ, "TMUX": "", "TMUX_PANE": "", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    recording = record([*script_argv(), "demo"], "hookrouter demo", environ)
    (folder / "demo.cast").write_text(recording.asciicast(), encoding="utf-8")
    (folder / "demo.svg").write_text(draw(recording), encoding="utf-8")


def _take(picture: Picture, served: Served, browser: Browser, folder: Path) -> None:
    page = served.log_in(
        browser,
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        device_scale_factor=1,
        reduced_motion="reduce",
    )
    page.goto(served.base + picture.path)
    if picture.path == "/statistics":
        _until_counted(page)
    if picture.is_review:
        card = page.locator("article.card").first
        card.get_by_role("radio").first.check()
        card.get_by_role("button", name="Review").click()
        page.get_by_role("heading", name="This will be sent").wait_for()
        page.locator(".review").evaluate("one => one.scrollIntoView({block: 'end'})")
    page.screenshot(path=folder / f"{picture.name}.png", animations="disabled", caret="hide")
    page.context.close()


def _until_counted(page: Page) -> None:
    """Reload the page until the journal has been read."""
    while page.get_by_text("The journal is being read").count():
        page.reload()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
