"""``hookrouter open``: prints the address at which the page is open to whoever follows it, and opens it."""

from __future__ import annotations

import sys
import time
import webbrowser
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter import _wiring
from hookrouter._serving import control
from hookrouter._serving.page_process import EXTRA_MISSING
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.dialogs.messages.answer_link import page_secret_problem
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["open_page"]

_START_SECONDS = 10.0
"""For how long a router that is started here has to answer."""


def open_page(
    qr: Annotated[bool, typer.Option("--qr", help="Show the address as a QR code, for a phone's camera.")] = False,
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="full, or view for who may look and change nothing.")
    ] = "full",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    as_json: Json = False,
) -> int:
    """Print a link that logs a browser in to the page, and open it here.

    The page shows what waits for an answer, the sessions with their queues, the history, and the health of the whole;
    the resident router serves it ([page] in config.toml), and is started if none runs. The link holds for a quarter of
    an hour; the login that it gives holds for [page] login_days, until 'hookrouter serve --revoke' ends all of them.

    With --json: url, role, and base_url (the page without a login).

    \b
    Examples:
      hookrouter open
      hookrouter open --qr
      hookrouter open --role view --no-browser

    \b
    Exit codes:
      0  printed
      1  the page is not served, or nobody can log in; why is said
      2  wrong arguments
    """
    try:
        from hookrouter._page.security.logins import ROLES, Logins
    except ImportError:
        raise CommandError(EXTRA_MISSING) from None
    if role not in ROLES:
        raise CommandError(f"--role: {' or '.join(ROLES)}, not {role!r}")
    app = Application.from_environ()
    page = app.config.page
    if problem := _problem(app) or page_secret_problem(app.home, page):
        typer.echo(f"hookrouter open: {printable(problem)}", err=True)
        if as_json:
            echo_json({"error": printable(problem)})
        return 1
    address = f"{page.base_url}/login/{Logins(app.home, page).link_token(role)}"
    if as_json:
        echo_json({"url": address, "role": role, "base_url": page.base_url})
        return 0
    typer.echo(address)
    if qr:
        _show_qr(address)
    elif not no_browser and sys.stdout.isatty():
        webbrowser.open(address)
    return 0


def _problem(app: Services) -> str:
    """Start a router if none runs; return why the page is not served, empty if it is."""
    if not app.config.page.enabled:
        return "config.toml: [page] enabled = false switches the page off"
    deadline = time.monotonic() + _START_SECONDS
    is_started = False
    while True:
        try:
            page = control.ask(app.home.router, "status").get("page")
        except control.NotServedError as error:
            if time.monotonic() > deadline:
                return f"no router serves the page: {error}; start one with: hookrouter serve"
            if not is_started:
                is_started = True
                _wiring.start_router(app.environ, app.home, app.config.serve.idle)
            time.sleep(0.1)
            continue
        if page is None:
            return "the router that runs does not know the page; 'hookrouter serve --restart' renews it"
        return "" if page.get("url") else str(page.get("problem", ""))


def _show_qr(address: str) -> None:
    import segno

    segno.make(address, error="l").terminal(compact=True)
