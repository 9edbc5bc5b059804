"""The page, as the router keeps it: it begins when somebody connects.

So a home whose page nobody opens costs a listening socket and nothing else. What the page does is in
:mod:`hookrouter_page.app`, which no router loads.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from hookrouter.serving.resident import ON_CONNECTION, Plan, ResidentProcess, extra_missing
from hookrouter_page.security.certificate import FileStamps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.serving.resident import Place, State

__all__ = ["NEEDED", "PageProcess"]

NEEDED = ("starlette", "uvicorn", "jinja2", "itsdangerous")
"""What the page is made with: the extra ``hookrouter[serve]``."""


class PageProcess(ResidentProcess):
    """Listens where ``[page]`` says, unless that switches it off."""

    name = "page"
    target = "hookrouter_page.process:main"

    def __init__(self) -> None:
        """No file is looked at yet."""
        self._tls = FileStamps()

    def plan(self, place: Place) -> Plan | None:
        """Listen at the address; a page that runs has read the table, and the files of the certificate."""
        page = place.config.page
        if not page.enabled:
            return None
        if any(importlib.util.find_spec(name) is None for name in NEEDED):
            return Plan(when=ON_CONNECTION, problem=extra_missing(self.name))
        stamps, problem = self._tls.look(page)
        return Plan(when=ON_CONNECTION, addresses=(page.address,), problem=problem, depends=(page, stamps))

    def status(self, plan: Plan, state: State) -> dict[str, object]:
        """Return its process, its address for people while somebody can connect, and what is wrong."""
        page = plan.depends[0] if isinstance(plan.depends, tuple) else None
        url = page.base_url if page is not None and state.listens else ""
        return {"pid": state.pid, "url": url, "problem": state.trouble}

    def line(self, status: Mapping[str, object]) -> str:
        """Return where it is."""
        return f"page: {status['url']}" if status["url"] else f"no page: {status['problem']}"
