"""A stand-in for the mod's part that takes prompts: it asks a real gate, and keeps what it was given."""

from __future__ import annotations

import http.client
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.gate_client import GateClient

__all__ = ["ModStandIn"]


class ModStandIn:
    """The mod of one client, which shows one session; :meth:`begin` starts it, and :meth:`end` ends it."""

    def __init__(self, gate: GateClient, name: str, session_id: str) -> None:
        self.submitted: list[str] = []
        self.acts: dict[str, dict[str, str]] = {}
        """Id of what was handed over -> what became of it."""
        self.says: Callable[[str], dict[str, str] | None] = lambda _text: None
        """What becomes of a text in place of its being submitted; None: it is."""
        self.tells = True
        """Whether it tells what has become of what it was given."""
        self.session_id = session_id
        self._gate = gate
        self._path = f"/v1/mods/{name}"
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> ModStandIn:
        self._thread.start()
        return self

    def end(self) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                asked = {"session_id": self.session_id, "has": [], "wait": 0.2}
                status, answer = self._gate.request("POST", self._path, asked)
                assert status == 200, answer
                if answer["state"] == "prompt":
                    self._carry(answer)
            except (OSError, http.client.HTTPException):
                self._ending.wait(0.05)

    def _carry(self, handed: dict[str, Any]) -> None:
        name, text = handed["id"], handed["text"]
        if name not in self.acts:
            if handed["kind"] == "command":
                text = f"/{text} {handed['arguments']}".strip()
            said = self.says(text)
            if said is None:
                self.submitted.append(text)
            self.acts[name] = said or {"outcome": "submitted", "reason": ""}
        if self.tells:
            self._gate.request("POST", f"{self._path}/ended", {"id": name, **self.acts[name]})
        else:
            self._ending.wait(0.05)
