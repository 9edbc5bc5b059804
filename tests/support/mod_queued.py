"""A managed client with a queue that goes in by hookrouter's module inside the client, beside a router."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.client import ClientSession
from hookrouter._sandbox.waiting import wait_until
from hookrouter.sessions.mods import ModError, ModGate
from support.mod_stage import client_environ, client_of
from support.queued import SESSION, Queued
from support.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hookrouter._sandbox.scripted_model import ScriptedModel
    from hookrouter._sandbox.stage import Stage
    from hookrouter._sandbox.tmux_server import PrivateTmux

__all__ = ["ModQueued"]


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
        version: str | None = None,
        **more: Any,
    ) -> None:
        """``version`` of the client, if it is not the one that the tests run."""
        self._version = version
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

    def _client(self, words: Sequence[str], size: Mapping[str, int]) -> ClientSession:
        log = os.path.join(self.stage.folder, "debug.log")
        command = [client_of(self._version), "--debug-file", log, *words]
        environ = client_environ(self.stage, self.model)
        return ClientSession(command, self.server, self.stage.client_home, environ, session=SESSION, **size)

    def has_mod(self) -> bool:
        """Whether the module of the session's client asks for prompts."""
        record = self.record
        try:
            return record is not None and ModGate(self.stage.home.router).mod_of(record.session_id) is not None
        except ModError:
            return False

    def state(self) -> str:
        """Return all that explains a failure, also what the client says of the module."""
        with open(os.path.join(self.stage.folder, "debug.log"), encoding="utf-8", errors="replace") as file:
            log = "".join([line[:300] for line in file if "hookrouter-mod" in line][-20:])
        return f"{super().state()}\n{log}"

    def keep_router(self) -> None:
        """Start the router again if it is gone."""
        if self.router is not None and not self.router.lives:
            self.router.start()

    def close(self) -> None:
        """End the deliverers and the router."""
        super().close()
        if self.router is not None:
            self.router.kill()
