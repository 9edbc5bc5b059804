"""The demo's end: a queue of two prompts with ``/clear`` between them, put in at once and brought in one by one."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hookrouter.queue.documents import ended_items
from hookrouter.queue.items import DONE
from hookrouter.storage.engine import open_store
from hookrouter.testing.sandbox import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.queue.items import Item
    from hookrouter.testing.sandbox import Stage

__all__ = ["ITEMS", "play_queue"]

ITEMS = ("please summarise the plan", "/clear", "please read the plan again, and say what comes first")

_TIMEOUT = 60.0


def play_queue(
    stage: Stage, session: str, log: Callable[[Stage, str], list[dict[str, Any]]], say: Callable[[str], None]
) -> list[str]:
    """Send the items into a session, and return what went wrong, one line each; empty if all is well.

    ``log`` returns what the agent did with the messages of a kind. Raises WaitTimeoutError.
    """
    started = time.monotonic()
    say("\nA queue: two prompts and /clear, put in by one call of `hookrouter send`:")
    sent = stage.run("send", f"--session={session}", "--as=agent", "--json", "--", *ITEMS)
    if sent.returncode != 0:
        return [f"hookrouter send ended with {sent.returncode}: {sent.stdout or sent.stderr}".strip()]
    ids = [item["id"] for item in json.loads(sent.stdout)["items"]]

    store = open_store(stage.home, say)

    def ended() -> list[Item] | None:
        found = [item for _, item in ended_items(store, ids)]
        return found if len(found) == len(ids) or any(item.state != DONE for item in found) else None

    items = wait_until(ended, _TIMEOUT, "end of the queue", lambda: stage.run("queue", "list", "--all").stdout)
    for item in items:
        proof = item.proof.get("event") or item.proof.get("record") or "nothing"
        say(f"   {item.text!r}: {item.state}, submitted by {item.channel or 'nobody'}, proven by {proof}")
    faults = [f"{item.text!r} {item.state}: {item.reason}" for item in items if item.state != DONE]
    if faults:
        return faults
    if [item.id for item in items] != ids or any(
        first.ended_at > second.started_at for first, second in pairwise(items)
    ):
        return [
            f"the items did not follow each other: {[(item.text, item.started_at, item.ended_at) for item in items]}"
        ]
    told = wait_until(lambda: log(stage, "queue_done"), _TIMEOUT, "message to the agent")
    data: Mapping[str, Any] = told[-1]["wake"]["data"]
    if [item["text"] for item in data["done"]] != list(ITEMS):
        return [f"the agent was told that {data['done']} was done"]
    say("   The agent is woken when the queue is done, with what was done and what Claude said last:")
    say(f"   | {data['message']}")
    say(f"   Verified, {time.monotonic() - started:.1f} s.")
    return []
