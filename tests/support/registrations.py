"""Entries of settings.json for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from hookrouter._contract.tables import EVENTS
from hookrouter._installation.registrations import Registration, RegistrationSource, registrations

__all__ = ["GUARD", "HOOKS", "JSON", "NAMES", "QUESTION", "SCRIPT", "shape", "wanted"]

SCRIPT = ["/opt/hookrouter/bin/hookrouter"]


def wanted(*hooks: str, script: list[str] = SCRIPT, seconds: float = 10, closed: bool = False) -> list[Registration]:
    return registrations([RegistrationSource(hooks, seconds, closed)], script, None)


def shape(entries: list[Registration]) -> list[tuple[str, str | None]]:
    return [(entry.event, entry.matcher) for entry in entries]


GUARD = wanted("pre_tool_use_ask_user_question", "stop", closed=True)


QUESTION = wanted("pre_tool_use_ask_user_question", "stop")

HOOKS = st.sampled_from(
    sorted(
        {event.hook for event in EVENTS.values()}
        | {f"{event.hook}_{tool}" for event in EVENTS.values() if event.is_tool for tool in ("bash", "edit", "mcp")}
        | {"raw_event"}
    )
)
"""Names of hooks."""

NAMES = st.text(min_size=1, max_size=6)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
"""Any JSON value."""
