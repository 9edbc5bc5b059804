"""A managed client for these programs: with a project that has a command, a skill and a file, and a queue of items."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hookrouter._sandbox.client import ClientError, find_client
from hookrouter._sandbox.processes import remove_folder
from hookrouter._sandbox.scripted_model import Reply, ScriptedModel
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter.dialogs.documents import list_questions
from hookrouter.queue.documents import ended_items
from hookrouter.queue.items import QUEUED
from hookrouter.sessions.running_clients import running_client
from hookrouter.util.program import script_argv
from live.queues.judge import Judged, judge
from live.queues.seen import look
from support.mod_queued import ModQueued
from support.queued import SESSION, Queued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookrouter._sandbox.stage import Stage
    from hookrouter.queue.documents import Hold
    from hookrouter.queue.items import Item
    from live.queues.items import Made

__all__ = ["Place", "Router", "client_version", "opened", "told"]

STUCK_SECONDS = 90.0
"""Seconds without any change of the queue, while nothing holds it, after which a run has failed."""


class Place:
    """A session with a queue, what was put into it, and the holds that came."""

    def __init__(self, queued: Queued, model: ScriptedModel) -> None:
        self.queued = queued
        self.model = model
        self.made: list[Made] = []
        self.numbers: dict[str, int] = {}
        """The numbers of items by their ids."""
        self.holds: list[Hold] = []
        self.vim = False
        """Whether the client is in vim mode."""
        self.stuck = ""
        """Why the run was given up; empty if it was not."""

    def put(self, made: Sequence[Made]) -> None:
        """Put items last."""
        for one, item in zip(made, self.queued.put(*(one.text for one in made)), strict=True):
            self.numbers[item.id] = one.number
        self.made += made

    def items(self) -> dict[int, Item]:
        """Return what the queue says of the items, by their numbers; a repeat stands for the one that it repeats."""
        known = [*self.queued.queue.items, *(item for _session, item in ended_items(self.queued.store))]
        return {self.numbers[item.id]: item for item in known if item.id in self.numbers}

    def deliver(self, go_on: Callable[[Hold], object] = lambda _hold: None, beside: Callable[[], object] = int) -> None:
        """Have all that waits delivered. At each hold, ``go_on`` is called and then the queue is resumed.

        ``beside`` is called again and again meanwhile. Returns also if the queue does not move any more.
        """
        self.queued.deliver()
        last, since = None, time.monotonic()
        while (queue := self.queued.queue).items:
            beside()
            now = queue, self.queued.record
            if now != last:
                last, since = now, time.monotonic()
            if queue.hold is not None and not queue.hold.until:
                self.holds.append(queue.hold)
                told(f"held ({queue.hold.cause}): {queue.hold.reason[:150]}")
                go_on(queue.hold)
                self.queued.resume()
                since = time.monotonic()
            elif time.monotonic() - since > STUCK_SECONDS:
                self.stuck = self._standstill()
                return
            time.sleep(0.05)

    def _standstill(self) -> str:
        first, record = self.queued.queue.items[0], self.queued.record
        what = f"{first.state}: {first.text[:60]!r}; {first.reason}"
        session = "" if record is None else f"{record.state} since {record.since} by {record.event}"
        client = None if record is None else running_client(self.queued.stage.environ, record.client_pid)
        open_dialogs = list_questions(self.queued.store)
        session += f"\nits deliverer is there: {self.queued.is_delivering}; {client}; open dialogs: {open_dialogs}"
        session += f"\nthe pane: {self.queued.client.pane.state()}"
        shown = self.queued.client.screen().rstrip()[-1500:]
        steps = "\n".join(str(one) for one in self.queued.stage.journal()[-5:])[-3000:]
        return f"the queue stood still for {STUCK_SECONDS:g} s\n{what}\nthe session is {session}\n{steps}\n{shown}"

    def first_waits(self) -> bool:
        """Whether the next item waits, and none is under way."""
        queue = self.queued.queue
        return bool(queue.items) and all(item.state == QUEUED for item in queue.items)

    def judged(self) -> list[Judged]:
        """Compare what the queue says of all items with what the client was seen to be given."""
        seen = look(self.queued.stage, self.model, [one.mark for one in self.made if one.mark])
        return judge(self.made, self.items(), seen)


class Router:
    """The router of the stage, started anew whenever it is gone."""

    def __init__(self, queued: Queued) -> None:
        self._queued = queued
        self._process: subprocess.Popen[bytes] | None = None
        self._log = queued.folder / "router.log"

    def keep_up(self) -> None:
        """Start it if it is not there."""
        if isinstance(self._queued, ModQueued):
            self._queued.keep_router()
        elif self._process is None or self._process.poll() is not None:
            with open(self._log, "ab") as log:
                self._process = subprocess.Popen(
                    [*script_argv(), "serve"],
                    env=self._queued.stage.environ,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def opened(
    channel: str,
    script: Mapping[str, Reply | Sequence[Reply]] | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    config: str = "",
    prepare: Callable[[Stage], None] = lambda _stage: None,
    proof_wait: int = 15,
    scripted: type[ScriptedModel] = ScriptedModel,
) -> Iterator[Place]:
    """Start a client in a folder of its own, whose items a channel submits; end it and remove the folder."""

    def prepared(stage: Stage) -> None:
        stage.client_home.write_settings({**stage.client_home.read_settings(), **(settings or {})})
        project = Path(stage.client_home.project)
        (project / "readme.txt").write_text("hello\n")
        skill = project / ".claude" / "skills" / "lookout" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: lookout\ndescription: Looks out.\n---\nLook out for $ARGUMENTS.\n")
        prepare(stage)

    folder = tempfile.mkdtemp(prefix="hookrouter-queues-")
    try:
        with PrivateTmux() as server, scripted(script) as model:
            kind = ModQueued if channel.startswith("mod") else Queued
            queued = kind(Path(folder), server, model, channel, config=config, prepare=prepared, proof_wait=proof_wait)
            try:
                yield Place(queued, model)
            finally:
                queued.close()
    finally:
        remove_folder(folder)


def client_version() -> str:
    """Return the version of the client that these programs run. Raises ClientError without one."""
    program = find_client()
    if program is None:
        raise ClientError("no Claude Code client was found: name one in HOOKROUTER_CLAUDE")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


def told(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {SESSION}: {text}", file=sys.stderr, flush=True)
