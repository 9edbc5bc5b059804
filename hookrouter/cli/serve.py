"""``hookrouter serve``: starts the router in this terminal, or asks the one that runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from hookrouter._serving.built_in import built_in
from hookrouter._serving.kept_processes import contributed, in_places
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.serve_unit import change_unit
from hookrouter.serving import control
from hookrouter.serving.resident import ResidentProcess
from hookrouter.storage.home import Home
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_error, printable

__all__ = ["serve"]


def serve(
    status: Annotated[bool, typer.Option("--status", help="Show the state of the running router.")] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop the running router; calls that it has taken are finished.")
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Restart the running router; no call is lost.")] = False,
    idle: Annotated[
        float, typer.Option("--idle", min=0, metavar="SECONDS", help="Stop after this long without a call; 0: never.")
    ] = 0.0,
    install_unit: Annotated[
        bool,
        typer.Option(
            "--install-unit",
            help="Let the system start the router at the first call: a systemd user unit, or a launchd agent on macOS.",
        ),
    ] = False,
    remove_unit: Annotated[bool, typer.Option("--remove-unit", help="Remove that unit.")] = False,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="End all logins at the page, and all links in messages.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With these two: show what would be written and run, and change nothing.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Run the router of this home: one warm process, so that the hooks of all sessions on this machine start faster.

    It serves the hooks that 'hookrouter install' has registered, in the foreground, until a signal ends it. Every call
    works without it, too: one that finds no router, or one that hangs, runs by itself as ever. It notices a change of
    config.toml, prompts, plugins and hookrouter itself at the next call. One runs for each home; a second one says so
    and leaves.

    With --json, for --status, --stop and --restart: version, home, boot, pid, since, program, plugins, calls, sent_away
    (how many callers had to run cold, by reason), died, running, warm (how many processes that have served a call wait
    for another one), waiting (event and seconds of calls that take long), memory_kb, modules, copied_pages (how many
    pages of memory are copied before a call comes), missing_variables (those that gateways name and the router lacks),
    loading, not_loaded, changed, gate, page and monitor; or error, if no router answers. For --install-unit and
    --remove-unit: unit, files (path, and the text that is or would be there; null for none), changed, dry_run, commands
    (lists of words), switched (whether they all worked) and problem (what the first one said that did not). For
    --revoke: revoked.

    \b
    Examples:
      hookrouter serve
      hookrouter serve --status
      hookrouter serve --restart --json
      hookrouter serve --install-unit --dry-run

    \b
    Exit codes:
      0  the router has ended, or did what it was asked
      1  it cannot serve; no router answers; the unit's files are written, and the system did not switch it on or off
      2  wrong arguments
    """
    home = Home.from_environ(os.environ)
    given = {
        "status": status,
        "stop": stop,
        "restart": restart,
        "install-unit": install_unit,
        "remove-unit": remove_unit,
        "revoke": revoke,
    }
    asked = [name for name, is_given in given.items() if is_given]
    if len(asked) > 1:
        raise CommandError(f"--{asked[0]} and --{asked[1]} exclude each other; give one of them")
    if revoke:
        return _revoke(as_json=as_json)
    if install_unit or remove_unit:
        return change_unit(home, install=install_unit, dry_run=dry_run, as_json=as_json)
    if dry_run:
        raise CommandError("--dry-run is for --install-unit and --remove-unit")
    if not asked:
        _become_router(idle)
    try:
        answer = control.ask(home.router, asked[0])
    except control.NotServedError as error:
        if as_json:
            echo_json({"error": printable(str(error))})
        else:
            typer.echo(f"hookrouter: {printable(str(error))}; start one with: hookrouter serve", err=True)
        return 1
    if as_json:
        echo_json(answer)
    else:
        for line in _lines(answer):
            typer.echo(printable(line))
    return 0


def _revoke(*, as_json: bool) -> int:
    """End all logins and links, by a new secret."""
    is_done, problems = False, []
    for process, place in in_places(Application.from_environ()):
        try:
            is_done = process.revoke(place) or is_done
        except Exception as error:  # noqa: BLE001 - it is a plugin's, and the others let people in too
            problems.append(
                str(error) if isinstance(error, HookrouterError) else f"{process.name}: {describe_error(error)}"
            )
    if problems:
        raise CommandError(printable("; ".join(problems)))
    if not is_done:
        raise CommandError("no plugin lets anybody in; the page is switched off")
    if as_json:
        echo_json({"revoked": True})
    else:
        typer.echo("All logins at the page and all links in messages have ended; 'hookrouter open' makes new ones.")
    return 0


def _become_router(idle: float) -> None:
    """Let the router take this process's place, without what the command line has loaded."""
    sys.stdout.flush()
    sys.stderr.flush()
    words = [sys.executable, "-P", "-m", "hookrouter", "serve", "--resident", f"{idle:g}"]
    os.execv(sys.executable, words)  # noqa: S606 - there is no shell


def _resident_processes() -> list[ResidentProcess]:
    """Return what may be kept beside the router: its own, and those of the plugins that are active here."""
    own = built_in()
    taken = [one.name for one in own]
    found = contributed(Application.from_environ().plugins, lambda _plugin, _text: None, taken)
    return [*own, *(process for _, process in found.values())]


def _line(process: ResidentProcess, status: dict[str, Any]) -> str:
    """Return what a resident process is told by; what its plugin's own words fail for is told in plain ones."""
    try:
        return str(process.line(status))
    except Exception:  # noqa: BLE001 - it may be a plugin's
        return ResidentProcess.line(process, status)


def _lines(status: dict[str, Any]) -> list[str]:
    """Return a router's status for a person."""
    process = f"process {status.get('pid')}, boot {status.get('boot')}"
    lines = [
        f"hookrouter {status.get('version')} serves {status.get('home')} since {status.get('since')} ({process})",
        f"calls: {status.get('calls')}, now running: {status.get('running')}, ended badly: {status.get('died')}",
        f"processes that wait for a further call: {status.get('warm', 0)}",
        f"memory: {status.get('memory_kb', 0) // 1024} MB",
    ]
    lines.append(f"plugins: {', '.join(status.get('plugins', [])) or 'none'}")
    lines += [f"sent away, to run cold: {count} ({reason})" for reason, count in status.get("sent_away", {}).items()]
    lines += [f"waits: {one['event']} for {one['seconds']:g} s" for one in status.get("waiting", [])]
    lines += [f"not kept loaded: {name}" for name in status.get("not_loaded", [])]
    lines += [_line(one, status[one.name]) for one in _resident_processes() if status.get(one.name)]
    if status.get("changed"):
        lines.append(f"restarts soon, because this has changed: {status['changed']}")
    return lines
