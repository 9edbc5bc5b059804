"""The tables of what contracts try, on the pages of planners and terminals: each between two comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter.testing.contracts.keystroke_planner import CASES
from hookrouter.testing.contracts.terminal_backend import CHARACTERS, NAMED_KEYS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["with_contract_tables"]

_PLACE = re.compile(r"(<!-- table (\w+)[^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)
_LONGEST = 60


def with_contract_tables(text: str) -> str:
    """Return the text of a page with its tables put in. Raises KeyError for a name that is none."""
    tables = {
        "CASES": _table("case", "is", ((name, case.about) for name, case in CASES.items())),
        "TEXTS": _table("text", "is", ((name, _code(_shortened(value))) for name, value in TEXTS.items())),
        "NAMED_KEYS": _table(
            "key",
            "bytes that the program may read",
            ((name, ", ".join(_code(repr(each)[2:-1]) for each in sent)) for name, sent in NAMED_KEYS.items()),
        ),
        "CHARACTERS": f"{_code(' '.join(CHARACTERS))}\n",
    }
    return _PLACE.sub(lambda place: f"{place[1]}\n{tables[place[2]]}\n{place[3]}", text)


def _table(name: str, about: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {name} | {about} |", "|---|---|"]
    lines += [f"| `{key}` | {value.replace('|', chr(92) + '|')} |" for key, value in rows]
    return "\n".join(lines) + "\n"


def _shortened(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def _code(text: str) -> str:
    """Return text as code that may hold backticks."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"
