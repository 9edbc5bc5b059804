"""``hookrouter open``: prints the address at which the page is open to whoever follows it, and opens it."""

from __future__ import annotations

import html
import os
import sys
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.serving import control
from hookrouter.serving.resident import extra_missing
from hookrouter.storage.home import ensure
from hookrouter.util.clock import local
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_error, printable
from hookrouter_page.security.answer_link import page_secret_problem
from hookrouter_page.settings import PageSettings

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.storage.home import Home
    from hookrouter_page.security.logins import Logins as PageLogins

__all__ = ["open_page"]

_START_SECONDS = 10.0
"""For how long a router that is started here has to answer."""


def open_page(
    qr: Annotated[bool, typer.Option("--qr", help="Show the address as a QR code, for a phone's camera.")] = False,
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="full, or view for who may look and change nothing.")
    ] = "full",
    logins: Annotated[bool, typer.Option("--logins", help="List the logins that hold, and open nothing.")] = False,
    end: Annotated[
        str | None,
        typer.Option("--end", metavar="ID", help="End one of the logins that --logins lists, and open nothing."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    as_json: Json = False,
) -> int:
    """Print a link that logs a browser in to the page, and open it here.

    The page shows open questions, the sessions with their queues, the history, and the health of the whole;
    the resident router serves it ([page] in config.toml), and is started if none runs. The link works once, within a
    quarter of an hour; the login that it gives holds for [page] login_days, until the page's "Log out", --end, or
    'hookrouter serve --revoke', which ends all of them.

    With --json: url, role, and base_url (the page itself, for those who are logged in). With --logins: logins, each
    with id, role, who, device (what its browser says of itself), at and seen_at. With --end: ended.

    \b
    Examples:
      hookrouter open
      hookrouter open --qr
      hookrouter open --role view --no-browser
      hookrouter open --logins
      hookrouter open --end 3f2a90c1d4e5b678

    \b
    Exit codes:
      0  printed
      1  the page is not served, nobody can log in, or there is no such login; the output says which
      2  wrong arguments
    """
    try:
        from hookrouter_page.security.logins import ROLES, Logins
    except ImportError:
        raise CommandError(extra_missing("page")) from None
    if role not in ROLES:
        raise CommandError(f"--role: {' or '.join(ROLES)}, not {role!r}")
    app = Application.from_environ()
    try:
        page = app.checked_settings(PageSettings)
    except HookrouterError as error:
        return _told(printable(str(error)), as_json=as_json)
    known = Logins(app.home, page, app.store)
    if logins or end is not None:
        return _look(app, known, end, as_json=as_json)
    if problem := _problem(app) or page_secret_problem(app.home, page):
        return _told(printable(problem), as_json=as_json)
    try:
        address = f"{page.base_url}/login/{known.link_token(role)}"
    except OSError as error:
        return _told(printable(f"nobody can log in to the page: {describe_error(error)}"), as_json=as_json)
    if as_json:
        echo_json({"url": address, "role": role, "base_url": page.base_url + known.root})
        return 0
    typer.echo(address)
    if qr:
        _show_qr(address)
    elif not no_browser and sys.stdout.isatty():
        try:
            webbrowser.open(_opening_file(app.home, address).as_uri())
        except OSError as error:
            typer.echo(printable(f"hookrouter open: no browser is opened: {describe_error(error)}"), err=True)
    return 0


def _told(problem: str, *, as_json: bool) -> int:
    """Say what is wrong; return the exit code."""
    typer.echo(f"hookrouter open: {problem}", err=True)
    if as_json:
        echo_json({"error": problem})
    return 1


def _look(app: Services, known: PageLogins, end: str | None, *, as_json: bool) -> int:
    """List the logins that hold, or end one of them."""
    from hookrouter_page.machines import Machines
    from hookrouter_page.security.login_records import KIND

    records = known.records
    if app.settings(PageSettings).secret_file:
        # Pages of other machines may be one with this one's.
        records.put_elsewhere(Machines().ask(app, lambda others: [row[1:] for row in others.entries(KIND)], None))
    if end is not None:
        if not end or not records.end(end):
            return _told(f"no login {printable(end)!r} holds; 'hookrouter open --logins' lists them", as_json=as_json)
        if as_json:
            echo_json({"ended": end})
        else:
            typer.echo(f"ended: {printable(end)}")
        return 0
    try:
        found = known.holding()
    except OSError as error:
        return _told(printable(f"nobody can log in to the page: {describe_error(error)}"), as_json=as_json)
    if as_json:
        shown = ("id", "role", "who", "device", "at", "seen_at")
        echo_json({"logins": [{key: getattr(one, key) for key in shown} for one in found]})
        return 0
    for one in found:
        typer.echo(f"{one.id}  {one.role}  {printable(one.who)}  since {local(one.at)}, seen {local(one.seen_at)}")
        typer.echo(f"    {printable(one.device)}")
    if not found:
        typer.echo("No login holds.")
    return 0


def _opening_file(home: Home, address: str) -> Path:
    """Return a page that leads to an address, in a file of this user's: every user sees the words of a command."""
    ensure(home.state)
    path = Path(home.state, "open-page.html")
    new = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        where = html.escape(address)
        file.write('<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">\n')
        file.write(f'<meta http-equiv="refresh" content="0; url={where}"><a href="{where}">hookrouter</a>\n')
    new.replace(path)
    return path


def _problem(app: Services) -> str:
    """Start a router if none runs; return why the page is not served, empty if it is."""
    if not app.settings(PageSettings).enabled:
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
                try:
                    app.start_router()
                except OSError as failed:
                    return f"no router serves the page, and none can be started: {describe_error(failed)}"
        else:
            if page is not None:
                return "" if page.get("url") else str(page.get("problem", ""))
            # A router that has just begun may be looking which plugins are installed.
            if time.monotonic() > deadline:
                return "the running router does not know the page; run: hookrouter serve --restart"
        time.sleep(0.1)


def _show_qr(address: str) -> None:
    import segno

    segno.make(address, error="l").terminal(compact=True)
