"""The paths of the own socket by which prompts come into sessions, for mods and for those who hand them prompts.

``POST /v1/mods/MOD``        a mod asks: ``session_id``, ``has`` (ids), ``wait``; the answer is a prompt, or waiting
``POST /v1/mods/MOD/ended``  a mod tells: ``id``, ``outcome`` and what else it says
``POST /v1/mods``            who is there: ``session_id``; the answer names the ``mod``, null without one
``POST /v1/prompts``         hands a prompt to ``mod``, or asks what became of it: ``id``, ``kind``, ``text``,
                             ``arguments``, ``wait``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._serving.gate.messages import asking, ended, handing, session_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._serving.gate.prompts import Mods

__all__ = ["MODS", "PROMPTS", "answer_prompts"]

MODS = "/v1/mods"
PROMPTS = "/v1/prompts"

_UNKNOWN = 404, {"error": "no mod of this id"}


async def answer_prompts(mods: Mods, path: str, body: bytes) -> tuple[int, Mapping[str, object]] | None:
    """Return status and answer of a POST to one of these paths; None for any other path. Raises BadRequest."""
    if path == MODS:
        return 200, {"mod": mods.of_session(session_of(body))}
    if path == PROMPTS:
        mod, wanted, seconds = handing(body)
        handed = mods.hand(mod, wanted)
        if handed is None:
            return _UNKNOWN
        outcome = await handed.wait(seconds)
        return 200, {"state": "waiting"} if outcome is None else {"state": "ended", **outcome}
    mod, slash, rest = path.removeprefix(f"{MODS}/").partition("/")
    if not path.startswith(f"{MODS}/") or not mod or (slash and rest != "ended"):
        return None
    if slash:
        identifier, outcome = ended(body)
        return (200, {}) if mods.ended(mod, identifier, outcome) else _UNKNOWN
    session_id, has, seconds = asking(body)
    found = await mods.ask(mod, session_id, has, seconds)
    return 200, {"state": "waiting"} if found is None else {"state": "prompt", **found.to_json()}
