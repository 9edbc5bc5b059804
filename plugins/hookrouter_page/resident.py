"""The page, as the router keeps it: it begins when somebody connects.

So a home whose page nobody opens costs a listening socket and nothing else. What the page does is in
:mod:`hookrouter_page.app`, which no router loads.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from hookrouter.serving.resident import ON_CONNECTION, Plan, ResidentProcess, extra_missing
from hookrouter.storage.secret_file import renew_secret
from hookrouter.util.errors import HookrouterError
from hookrouter_page.addresses import base_url
from hookrouter_page.security.answer_link import page_secret_file, page_secret_problem
from hookrouter_page.security.certificate import KEY, FileStamps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.serving.resident import Place, State
    from hookrouter_page.settings import PageSettings

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
        page: Mapping[str, Any] = place.settings
        if place.problems:
            return Plan(when=ON_CONNECTION, problem=place.problems[0])
        if not page["enabled"]:
            return None
        if any(importlib.util.find_spec(name) is None for name in NEEDED):
            return Plan(when=ON_CONNECTION, problem=extra_missing(self.name))
        stamps, problem = self._tls.look(page["certificate"], page["private_key"])
        depends = dict(page), stamps
        return Plan(when=ON_CONNECTION, addresses=(page["address"],), problem=problem, depends=depends)

    def faults(self, place: Place) -> Iterable[tuple[str, str]]:
        """Say why nobody can log in, if the page's secret or its certificate cannot be used."""
        page = _settings(place)
        # What is wrong with the table is told as of any plugin's.
        if not page.enabled or place.problems:
            return
        if problem := page_secret_problem(place.home, page):
            yield ("page.secret_file" if page.secret_file else ""), f"nobody can log in to the page: {problem}"
        if problem := FileStamps().look(page.certificate, page.private_key)[1]:
            key = "page.private_key" if problem.startswith(KEY) else "page.certificate"
            yield key, f"the page is not served: {problem}"

    def revoke(self, place: Place) -> bool:
        """End all logins and links, by a new secret. Raises OSError, and HookrouterError if others share it."""
        if place.problems:
            raise HookrouterError(f"which secret the page has is not known: {place.problems[0]}")
        page = _settings(place)
        if page.secret_file:
            raise HookrouterError(
                f"[page] secret_file: several pages may share {page.secret_file}; put a new secret there, on the "
                "machine of each"
            )
        renew_secret(page_secret_file(place.home, page))
        return True

    def status(self, plan: Plan, state: State) -> dict[str, object]:
        """Return its process, its address for people while somebody can connect, and what is wrong."""
        page = plan.depends[0] if isinstance(plan.depends, tuple) else None
        url = ""
        if page is not None and state.listens:
            url = base_url(page["url"], page["address"], tls=bool(page["certificate"]))
        return {"pid": state.pid, "url": url, "problem": state.trouble}

    def line(self, status: Mapping[str, object]) -> str:
        """Return where it is."""
        return f"page: {status['url']}" if status["url"] else f"no page: {status['problem']}"


def _settings(place: Place) -> PageSettings:
    # Not in the router, which does without attrs.
    from hookrouter_page.settings import PageSettings

    return PageSettings(**place.settings)  # type: ignore[arg-type] # they are this class's values
