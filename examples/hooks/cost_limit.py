"""Ends turns, and refuses prompts, once a session has cost more than a limit, by the usage in its transcripts.

No hook says what a session costs. Counted is what Claude Code has written to the transcripts of the session and of its
subagents. Not in them are: what the request that is running costs, what Claude Code asks for itself (titles,
summaries), and what a session cost before /clear. So the figure is a little low: it is a brake, not a bill.
"""

import glob
import json
import os

from hookrouter import hookimpl
from hookrouter.events import Event, PostToolBatch, UserPromptSubmit
from hookrouter.replies import PostToolBatchReply, UserPromptSubmitReply

DOLLARS = 20.0
PRICES = {  # of your model, in dollars for a million tokens
    "input_tokens": 5.0,
    "cache_creation_input_tokens": 6.25,
    "cache_read_input_tokens": 0.5,
    "output_tokens": 25.0,
}


@hookimpl
def post_tool_batch(event: PostToolBatch) -> PostToolBatchReply | None:
    why = over(event)
    return PostToolBatchReply.block(why) if why else None


@hookimpl
def user_prompt_submit(event: UserPromptSubmit) -> UserPromptSubmitReply | None:
    why = over(event)
    return UserPromptSubmitReply.block(why) if why else None


def over(event: Event) -> str:
    own = event.transcript_path
    files = [own, *glob.glob(f"{glob.escape(own.removesuffix('.jsonl'))}/subagents/*.jsonl")] if own else []
    requests = {key: cost for file in files if os.path.isfile(file) for key, cost in read(file).items()}
    spent = sum(requests.values())
    return f"This session has cost about ${spent:.2f}; its limit is ${DOLLARS:.2f}." if spent > DOLLARS else ""


def read(path: str) -> dict[str, float]:
    """Return what each request has cost; the records of one request all carry its usage."""
    found = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if '"usage"' in line:
                try:
                    message = json.loads(line)["message"]
                    usage = message["usage"]
                    cost = sum(int(usage.get(kind) or 0) * price for kind, price in PRICES.items())
                    found[str(message["id"])] = cost / 1_000_000
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue  # another kind of record, or one that is still being written
    return found
