"""A page whose questions the client's stand-in asks, and hooks answer: no terminal is needed."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.stage import Stage
from support.managed_client import question
from support.page import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter._sandbox.piped import PipedStandIn

__all__ = ["AskingPage", "asking_page"]

REPLIES = '[answer]\nchannels = ["reply"]\n'
NAME = "way"


class AskingPage:
    """The page, and the client that asks."""

    def __init__(self, served: Served, client: PipedStandIn) -> None:
        """Both run."""
        self.served = served
        self._client = client

    def ask(self) -> None:
        """Have Claude ask ``Which way?``, with the choices Left and Right."""
        self._client.submit(f"please ASK {NAME}")

    def told(self) -> list[dict[str, Any]]:
        """Return what ``hookrouter history`` tells of all questions."""
        found: list[dict[str, Any]] = json.loads(self.served.run("history", "--json"))["questions"]
        return found


@contextmanager
def asking_page(folder: Path, config: str) -> Iterator[AskingPage]:
    """Yield one that runs in ``folder``, which exists; ``config`` has the ``[page]`` table."""
    stage = Stage(str(folder), REPLIES + config)
    stage.install()
    forms = {NAME: {"questions": [question("Which way?")]}}
    with Served(stage.environ) as served, stage.piped_stand_in(forms, width=80, height=24) as client:
        yield AskingPage(served, client)
