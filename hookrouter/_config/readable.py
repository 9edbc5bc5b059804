"""What can be read of a ``config.toml`` with mistakes, so that those between its tables are found in the same go."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from hookrouter._config.schema import structure
from hookrouter._config.validation import FAULTS, problems_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._config.schema import ConfigFile

__all__ = ["readable"]

_AGENTS = "agents"
_INDEX = re.compile(r"\[(\d+)\]")
_ROUNDS = 20
"""What is left out may leave another key faulty: the table that it was required in."""


def readable(raw: Mapping[str, object]) -> ConfigFile | None:
    """Return a file without the keys that cannot be read; None if nothing of it can.

    The agents keep their numbers: one without a usable id has one that no file can have.
    """
    rest = copy.deepcopy(dict(raw))
    for _ in range(_ROUNDS):
        try:
            return structure(rest)
        except FAULTS as error:
            keys = sorted({problem.key for problem in problems_of(error)}, reverse=True)
            changes = [_leave_out(rest, key) for key in keys]
            if not any(changes):
                return None
        except RecursionError:
            return None
    return None


def _leave_out(rest: dict[str, Any], path: str) -> bool:
    """Take a key out of the tables, or what it is missing from; return whether anything changed."""
    chain = _chain(rest, path)
    if not chain:
        return False
    if len(chain) > 1 and chain[0] == (rest, _AGENTS) and (len(chain) == 2 or chain[-1][1] == "id"):
        agents, number = chain[1]
        entry = agents[number] if isinstance(agents[number], dict) else {}
        agents[number] = {**entry, "id": f"\0{number}"}
        return bool(entry.get("id") != agents[number]["id"])
    while isinstance(chain[-1][0], list):
        # One item of a list: without it the others would not be what the file says.
        chain.pop()
    container, key = chain[-1]
    del container[key]
    return True


def _chain(rest: dict[str, Any], path: str) -> list[tuple[Any, Any]]:
    """Return container and key of each step of a path as far as it exists; keys may hold dots."""
    chain: list[tuple[Any, Any]] = []
    node: Any = rest
    while path:
        if isinstance(node, list):
            match = _INDEX.match(path)
            if match is None or int(match[1]) >= len(node):
                break
            key: Any = int(match[1])
            path = path[match.end() :]
        elif isinstance(node, dict):
            fitting = [name for name in node if path == name or path.startswith((f"{name}.", f"{name}["))]
            if not fitting:
                break
            key = max(fitting, key=len)
            path = path[len(key) :]
        else:
            break
        chain.append((node, key))
        node, path = node[key], path.removeprefix(".")
    return chain
