"""What do the last days say of plugins? Are they fast: a tool call waits for them; a hook in which one may wait is left
out. Do they give tools inputs that these can use?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import OK, WARNING, Finding
from hookrouter._diagnostics.statistics import Figures, Times
from hookrouter._routing.rewrites import MISFIT
from hookrouter.storage.journal_query import entry_of
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place


__all__ = ["SlowPluginsCheck"]

_SLOW_MS = 100.0
"""The median above which a plugin is slow: a tool call waits for it."""
_SLOW_CALLS = 10
"""Calls below which nothing is said about a plugin's speed."""
_SLOW_DAYS = 3
_MAX_MISFITS = 10
"""Texts that are told of inputs that do not fit: a key may be of any name."""
_OWN = "hookrouter"
"""The distribution whose plugins nobody is told to disable or to rewrite: what they do is why hookrouter is there."""


class SlowPluginsCheck:
    """How long plugins took in the last days, and what they did to the inputs of tools."""

    name = "slow plugins"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        app = place.app
        figures, since = Figures(), now() - _SLOW_DAYS * 86400
        misfits: dict[str, None] = {}
        for line in app.journal.lines(since):
            # Of a large journal, only the runs in which somebody was called are worth reading.
            entry = entry_of(line) if b'"plugins":[{' in line else None
            if entry is not None and (seconds(entry.record.get("at")) or 0.0) >= since:
                figures.add(entry.record)
                warnings = entry.record.get("warnings")
                told = [text for text in warnings if MISFIT in str(text)] if isinstance(warnings, list) else []
                misfits.update(dict.fromkeys(map(str, told)))
        for text in list(misfits)[:_MAX_MISFITS]:
            fix = "its author changes an input with tool_input.changed(...), which keeps what is not named"
            yield Finding(WARNING, self.name, f"plugin {text}", fix)
        infos = {info.name: info for info in app.plugins.listing()}
        slow, counted = 0, 0
        for (name, hook), calls in sorted(figures.by_plugin.items()):
            info = infos.get(name)
            times = Times.of(calls.ms)
            if info is None or hook in info.waits or times.median is None or times.p95 is None:
                continue
            counted += calls.count
            is_close = times.p95 > info.timeout * 500
            if len(calls.ms) < _SLOW_CALLS or not (times.median > _SLOW_MS or is_close):
                continue
            slow += 1
            path = app.home.config_file
            advice = (
                f"raise its timeout, [plugins.{name}] timeout = {2 * info.timeout:g} in {path}, " if is_close else ""
            )
            change = (
                "look at what it waits for: the disk of the home, the engine of [storage], the load of the machine"
                if info.distribution == _OWN
                else f"change it to do its work after the hook, or disable it ([plugins.{name}] enabled = false in "
                f"{path})"
            )
            yield Finding(
                WARNING,
                "slow plugins",
                f"plugin {name} is slow in {hook}: median {times.median:g} ms, 95 % of {calls.count} calls within "
                f"{times.p95:g} ms, its timeout is {info.timeout:g} s",
                f"{advice}{change}; figures: hookrouter stats --plugin {name}",
            )
        if not slow:
            yield Finding(OK, "slow plugins", f"no plugin was slow in the last {_SLOW_DAYS} days ({counted} calls)")
