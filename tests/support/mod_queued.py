"""A managed client with a queue that goes in by hookrouter's module inside the client, beside a router."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.waiting import wait_until
from hookrouter.sessions.mods import ModError, ModGate
from support.queued import Queued
from support.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hookrouter._sandbox.client import ClientSession
    from hookrouter._sandbox.scripted_model import ScriptedModel
    from hookrouter._sandbox.stage import Stage
    from hookrouter._sandbox.tmux_server import PrivateTmux

__all__ = ["ModQueued"]

# A client of 2.1.287 refuses its mods every request while it is set.
_FORBIDS_REQUESTS = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"


class ModQueued(Queued):
    """See the module. The folder's path must be short: the client connects to a socket in it."""

    def __init__(
        self,
        folder: Path,
        server: PrivateTmux,
        model: ScriptedModel,
        channel: str = "mod",
        *,
        config: str = "",
        prepare: Callable[[Stage], None] | None = None,
        **more: Any,
    ) -> None:
        self.router: Resident | None = None

        def prepared(stage: Stage) -> None:
            if prepare is not None:
                prepare(stage)
            self.router = Resident(stage.environ)
            self.router.start()

        config = f"{config}[serve]\nmod = true\n\n"
        super().__init__(
            folder, server, model, channel, config=config, prepare=prepared, install=("--front", "mod"), **more
        )

    def start_client(self, *words: str, width: int = 120, height: int = 40) -> ClientSession:
        """Start a client, and wait until its module asks for prompts."""
        client = super().start_client(*words, width=width, height=height)
        wait_until(self.has_mod, 30, "the module that asks for prompts", client.screen)
        return client

    def has_mod(self) -> bool:
        """Whether the module of the session's client asks for prompts."""
        record = self.record
        try:
            return record is not None and ModGate(self.stage.home.router).mod_of(record.session_id) is not None
        except ModError:
            return False

    def close(self) -> None:
        """End the deliverers and the router."""
        super().close()
        if self.router is not None:
            self.router.kill()
