"""How soon the next item is submitted once a turn has ended, and how soon a blind sender of keys does that.

Both take turns in one client: some items by the queue, then as many prompts by a sender that types text and Enter at
once when Stop comes, and looks at nothing. A router serves the hooks. Times are those at which hooks were called, and
at which the model was asked.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._sandbox.scripted_model import ModelRequest, Reply, ScriptedModel
from hookrouter._sandbox.waiting import wait_until
from live.queues.items import mixed
from live.queues.place import Place, Router, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._sandbox.stage import Stage
    from live.queues.judge import Judged

__all__ = ["Gap", "run", "table"]

IN_A_ROW = 5
"""Prompts of one sender before it is the other one's turn; the first of each comes after no Stop, and counts not."""
BLIND = "blind"
_PROMPT = ("prompt",)


class Gap(NamedTuple):
    """The time from the end of one turn to the beginning of the next."""

    sender: str
    """The channel, or ``blind``."""
    to_prompt: float
    """Seconds from Stop to UserPromptSubmit, by the clocks of two hooks that do nothing else; 0.0 if none came."""
    to_request: float
    """Seconds from Stop to the request to the model."""


class _Timed(ScriptedModel):
    """Knows when each prompt came first."""

    def __init__(self, script: Mapping[str, Reply | Sequence[Reply]] | None = None) -> None:
        super().__init__(script)
        self._firsts: dict[str, float] = {}

    def record(self, request: ModelRequest) -> None:
        super().record(request)
        now = time.time()
        for message in request.body.get("messages") or []:
            content = message.get("content")
            blocks = [{"text": content}] if isinstance(content, str) else content or []
            for block in blocks if request.body.get("tools") and message.get("role") == "user" else ():
                self._firsts.setdefault(str(block.get("text", "")).strip(), now)

    def first(self, text: str) -> float:
        """Return when a text came first; 0.0 if it has not."""
        return min((at for said, at in list(self._firsts.items()) if text in said), default=0.0)


def run(channel: str, count: int) -> tuple[list[Gap], list[Judged], str]:
    """Measure ``count`` gaps of each sender, or somewhat more."""
    times = ""

    def prepare(stage: Stage) -> None:
        nonlocal times
        times = f"{stage.folder}/times"
        for event in ("Stop", "UserPromptSubmit"):
            stage.client_home.add_hook(event, f"date +'{event} %s.%N' >> {times}")

    gaps: list[Gap] = []
    with opened(channel, prepare=prepare, scripted=_Timed) as place:
        router = Router(place.queued)
        router.keep_up()
        rounds = -(-count // (IN_A_ROW - 1))
        made = mixed(rounds * IN_A_ROW, 1, _PROMPT)
        for number in range(rounds):
            some = made[number * IN_A_ROW : (number + 1) * IN_A_ROW]
            begin = len(_times(times))
            place.put(some)
            place.deliver()
            if place.stuck:
                break
            _wait_stops(times, begin, len(some))
            gaps += _gaps(channel, place, _times(times)[begin:], [one.text for one in some])
            begin = len(_times(times))
            words = [f"blind {number} {place_of} garden paper river stone" for place_of in range(IN_A_ROW)]
            _send_blindly(place, times, begin, words)
            gaps += _gaps(BLIND, place, _times(times)[begin:], words)
        router.end()
        return gaps, place.judged(), place.stuck


def _times(path: str) -> list[tuple[str, float]]:
    """Return event and time of each hook so far."""
    if not Path(path).exists():
        return []
    lines = Path(path).read_text().splitlines()
    return [(event, float(at)) for event, _, at in (line.partition(" ") for line in lines if "." in line)]


def _wait_stops(path: str, begin: int, count: int) -> None:
    wait_until(lambda: _stops(path, begin) >= count, 30, f"{count} ends of turns", lambda: str(_times(path)[begin:]))


def _stops(path: str, begin: int) -> int:
    return sum(event == "Stop" for event, _ in _times(path)[begin:])


def _send_blindly(place: Place, path: str, begin: int, words: Sequence[str]) -> None:
    """Type each prompt and Enter as soon as the turn before it has ended."""
    pane, server = place.queued.client.pane, place.queued.server
    place.queued.client.wait_idle()
    target = pane.target  # type: ignore[attr-defined]
    for number, text in enumerate(words):
        end = time.monotonic() + 30
        while number and _stops(path, begin) < number and time.monotonic() < end:
            time.sleep(0.002)
        for keys in (["-l", "--", text], ["Enter"]):
            subprocess.run(["tmux", "-S", server.socket, "send-keys", "-t", target, *keys], check=True)
    _wait_stops(path, begin, len(words))


def _gaps(sender: str, place: Place, times: Sequence[tuple[str, float]], texts: Sequence[str]) -> list[Gap]:
    model = place.model
    assert isinstance(model, _Timed)
    stops = [at for event, at in times if event == "Stop"]
    prompts = [at for event, at in times if event == "UserPromptSubmit"]
    found = []
    for stop, text in zip(stops, texts[1:], strict=False):
        prompt = next((at for at in prompts if at > stop), 0.0)
        asked = model.first(text)
        found.append(Gap(sender, round(prompt - stop, 4) if prompt else 0.0, round(asked - stop, 4) if asked else 0.0))
    return found


def table(gaps: Sequence[Gap]) -> str:
    """Return medians, in a Markdown table."""
    lines = ["| sender | to UserPromptSubmit | nine of ten within | to the request | gaps |", "|---|---|---|---|---|"]
    for sender in dict.fromkeys(gap.sender for gap in gaps):
        prompts = sorted(gap.to_prompt for gap in gaps if gap.sender == sender and gap.to_prompt)
        requests = [gap.to_request for gap in gaps if gap.sender == sender and gap.to_request]
        cells = [
            f"{statistics.median(prompts):.2f} s" if prompts else "",
            f"{prompts[len(prompts) * 9 // 10]:.2f} s" if prompts else "",
            f"{statistics.median(requests):.2f} s" if requests else "",
            str(len(prompts) or len(requests)),
        ]
        lines.append(f"| {sender} | {' | '.join(cells)} |")
    return "\n".join(lines)
