"""What all views share: the services as they are now, logins, tasks, templates."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from hookrouter import __version__
from hookrouter.dialogs.answers.identity import login_name
from hookrouter.pages import PageRequest
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import local, now, seconds
from hookrouter.util.text import duration, printable
from hookrouter_page.live import Live
from hookrouter_page.machines import Machines
from hookrouter_page.plugins.plugin_pages import PluginPages
from hookrouter_page.reading.figures import Counting
from hookrouter_page.reading.health import Health
from hookrouter_page.reading.kept import KeptHistory
from hookrouter_page.reading.sessions import Sessions
from hookrouter_page.reading.stories import StoryIndex
from hookrouter_page.security.guard import user_of
from hookrouter_page.security.login_records import KIND as LOGIN
from hookrouter_page.security.logins import VIEW, Logins
from hookrouter_page.settings import PageSettings
from hookrouter_page.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.requests import Request

    from hookrouter.cli.application import Application
    from hookrouter.context import Services
    from hookrouter_page.security.logins import Login

__all__ = ["PageState", "state_of"]

_FRESH_SECONDS = 1.0
"""For how long config and plugins are taken to be as they were read."""

_WITHOUT_FORM = {401, 403, 404, 409, 410, 503}
"""The statuses of pages that have no place for what was typed, but show it below."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class PageState:
    """The page of one home."""

    def __init__(self, make: Callable[[], Application]) -> None:
        """``make`` reads config and plugins as they are now."""
        self._make = make
        self._services = make()
        self._read_at = time.monotonic()
        self.page = self._services.checked_settings(PageSettings)
        self.logins = Logins(self._services.home, self.page, self._services.store)
        self.tasks = Tasks(self._services.environ)
        self.machines = Machines()
        self.live = Live(self._services.store, self._changes)
        self.sessions = Sessions(self.machines)
        self.health = Health()
        self.stories = StoryIndex(self._services.journal, self._services.store)
        self.kept = KeptHistory()
        self.counting = Counting(self.stories, self.kept)
        self.plugin_pages = PluginPages()
        self._templates = Environment(
            loader=FileSystemLoader(os.path.join(_FOLDER, "templates")),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "shown": shown,
            "line": line,
            "local": local,
            "age": age,
        }
        self._templates.globals |= {"version": __version__}

    @property
    def services(self) -> Application:
        """The services of now."""
        if time.monotonic() - self._read_at >= _FRESH_SECONDS:
            self._services, self._read_at = self._make(), time.monotonic()
        return self._services

    @property
    def former_services(self) -> Application:
        """The services as they were read last: they cannot be read anew while hookrouter is being installed."""
        return self._services

    def _changes(self, kinds: Collection[str], since: object | None) -> tuple[object, set[str]]:
        """Return what the fleet's ``changed`` says; nothing has changed where there are no others."""
        nothing: tuple[object, set[str]] = None, set()
        return self.machines.ask(self.services, lambda others: others.changed(kinds, since), nothing)

    def look_for_logins(self) -> None:
        """Read what other machines keep of logins, if it is time: their pages and this one may be one. In a thread."""
        records, services = self.logins.records, self.services
        records.is_shared = bool(self.page.secret_file and self.machines.here(services))
        if records.is_shared and records.is_due:
            records.put_elsewhere(
                self.machines.ask(services, lambda others: [row[1:] for row in others.entries(LOGIN)], None)
            )

    def login(self, request: Request) -> Login | None:
        """Return who is logged in at a browser. Raises OSError and StoreError if that cannot be read."""
        return self.logins.login_of(request.headers.getlist("cookie")) if request.scope.get("root_path") else None

    def user(self, request: Request) -> str:
        """Return the name under which a browser's person answers."""
        return user_of(request, self.page, login_name())

    def asked(self, request: Request, services: Services) -> PageRequest:
        """Return what the function of a plugin is told of a request."""
        login = self.login(request)
        return PageRequest(dict(request.query_params), VIEW if login is None else login.role, services)

    def draw(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page, or of one that htmx asks for only the part that it puts into the page."""
        login: Login | None = None
        with suppress(StoreError):
            login = self.login(request)
        text = self._templates.get_template(template).render(
            login=login,
            root=request.scope.get("root_path", ""),
            csrf=self.logins.csrf_token(login.id) if login is not None else "",
            path=request.url.path.removeprefix(request.scope.get("root_path", "")),
            plugin_links=self.plugin_pages.contributed.links,
            is_part=request.headers.get("hx-request") == "true",
            left_over=getattr(request.state, "typed", ()) if status in _WITHOUT_FORM else (),
            **values,
        )
        return HTMLResponse(text, status)


def state_of(request: Request) -> PageState:
    """Return what the views share."""
    state: PageState = request.app.state.page
    return state


def shown(text: object) -> str:
    """Return a text of whomever for a page: control and invisible characters made visible, lines kept."""
    return printable(str(text), keep_newlines=True)


def line(text: object) -> str:
    """Return a text of whomever in one line."""
    return printable(str(text))


def age(when: str) -> str:
    """Return how long ago a time was, in words; empty if it is none."""
    then = seconds(when)
    return "" if then is None else duration(max(0.0, now() - then))
