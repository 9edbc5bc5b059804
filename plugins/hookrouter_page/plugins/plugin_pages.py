"""What plugins add to the page, asked for and filled in."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.text import printable
from hookrouter_page.plugins.calls import CallFailed, PluginCalls
from hookrouter_page.plugins.content import read_content
from hookrouter_page.plugins.contributed import offered, put_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services
    from hookrouter.pages import Contribution, PageRequest
    from hookrouter.queue.overview import SessionView
    from hookrouter_page.plugins.content import Drawn
    from hookrouter_page.plugins.contributed import Contributed, PluginPage

__all__ = ["LONGEST_SECONDS", "Filled", "PluginPages"]

LONGEST_SECONDS = 5.0
"""How long a page or panel is waited for, unless the plugin's ``timeout`` is shorter."""

ASKING_SECONDS = 10.0
"""How long a plugin may take to say what it adds, with its import."""

FIRST_SECONDS = 2.0
"""How long views wait for that at the beginning; what comes later is there from then on."""

_KEPT = 4000
"""Characters of a traceback that the journal keeps, from its end."""


class Filled(NamedTuple):
    """A page or a panel, ready to be drawn."""

    plugin: str
    title: str
    blocks: list[Drawn]
    problem: str
    """Why there are no blocks; empty if nothing is wrong."""


class PluginPages:
    """The pages, panels and links of all plugins."""

    def __init__(self) -> None:
        """No plugin is asked yet."""
        self._calls = PluginCalls()
        self._asked: tuple[object, ...] = ()
        self._names: tuple[str, ...] = ()
        self._asked_at = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._failures: dict[str, str] = {}
        self.contributed: Contributed = put_together(())
        """What is known by now."""

    async def refresh(self, services: Services) -> None:
        """Ask the plugins what they add, if others are active than before. Waits a moment for them at most."""
        active = tuple(services.plugins.listeners(["web_pages"]))
        if active != self._asked:
            self._asked, self._asked_at = active, time.monotonic()
            self._names = tuple(info.name for info in active)
            self._failures = {}
            self.contributed = put_together(())
            self._asking = asyncio.create_task(self._ask(services, self._names))
        left = self._asked_at + FIRST_SECONDS - time.monotonic()
        if self._asking is not None and not self._asking.done() and left > 0:
            await asyncio.wait([self._asking], timeout=left)

    @property
    def problems(self) -> list[str]:
        """What could not be taken, one line each, with the plugin's name."""
        return [*self._failures.values(), *self.contributed.problems]

    def page(self, address: str) -> PluginPage | None:
        """Return the page of an address; None if there is none."""
        return self.contributed.pages.get(address)

    async def fill_page(self, services: Services, found: PluginPage, request: PageRequest) -> Filled:
        """Return a page with what the plugin shows on it now. Raises nothing of the plugin's."""
        return await self._fill(services, found.plugin, found.page.title, lambda: found.page.content(request))

    async def fill_panels(self, services: Services, view: SessionView, request: PageRequest) -> list[Filled]:
        """Return the panels of a session that have something to show. Raises nothing of a plugin's."""
        filling = [
            self._fill(services, plugin, panel.title, lambda panel=panel: panel.content(view, request))  # type: ignore[misc] # its type cannot be said
            for plugin, panel in self.contributed.panels
        ]
        return [one for one in await asyncio.gather(*filling) if one.blocks or one.problem]

    async def _fill(self, services: Services, plugin: str, title: str, function: Callable[[], object]) -> Filled:
        seconds = min(services.plugins.timeout(plugin), LONGEST_SECONDS)
        try:
            blocks = await self._calls.call(plugin, lambda: read_content(function()), seconds)
        except CallFailed as error:
            _journal(services, plugin, f"{title!r} of the page failed: {error}", error.details)
            return Filled(plugin, title, [], str(error))
        return Filled(plugin, title, blocks, "")

    async def _ask(self, services: Services, names: tuple[str, ...]) -> None:
        given: dict[str, tuple[Contribution, ...]] = {}
        await asyncio.gather(*(self._ask_one(services, name, names, given) for name in names))
        for problem in self.contributed.problems if self._names is names else ():
            services.journal.write({"level": "warning", "reason": problem}, None)

    async def _ask_one(
        self,
        services: Services,
        plugin: str,
        names: tuple[str, ...],
        given: dict[str, tuple[Contribution, ...]],
    ) -> None:
        told: list[str] = []

        def ask() -> tuple[Contribution, ...]:
            found = services.plugins.collect("web_pages", plugin, lambda _plugin, text: told.append(text))
            return offered(found[0][1] if found else None)

        details = ""
        try:
            given[plugin] = await self._calls.call(plugin, ask, ASKING_SECONDS)
        except CallFailed as error:
            told.append(str(error))
            details = error.details
        for text in told:
            _journal(services, plugin, text, details)
        # Meanwhile others may be active, and asked.
        if self._names is names:
            if told:
                self._failures[plugin] = printable(f"plugin {plugin}: {'; '.join(told)}")
            self.contributed = put_together([(name, given[name]) for name in names if name in given])


def _journal(services: Services, plugin: str, text: str, details: str) -> None:
    record = {"level": "error", "reason": printable(f"plugin {plugin}: {text}")}
    services.journal.write({**record, "traceback": details[-_KEPT:]} if details else record, None)
