"""Is the resident router well, if there is one, and does it serve this installation's calls?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookrouter import __version__
from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._routing.auto_start import LOG
from hookrouter._serving import address
from hookrouter._serving.kept_processes import faults
from hookrouter._serving.units import UnitError, service, started_program
from hookrouter.serving import control
from hookrouter.serving.resident import extra_missing
from hookrouter.util.program import script_argv
from hookrouter.util.regular_file import read_end
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter.context import Services

__all__ = ["RouterCheck"]

_NAME = "router"

_MUCH_MEMORY = 512 * 1024
"""Kilobytes above which a router has grown: it needs some tens of megabytes."""

_LOG_END = 4096

_NO_END = (
    "another router serves",
    "hookrouter serve: gate: ",
    "hookrouter serve: no ",
    "hookrouter serve: page: ",
)
"""What is in lines of a router's log that are not about its end."""

_AWAY = {
    "another installation": "hooks are registered for another installation of hookrouter",
    "another home": "hooks run with another HOOKROUTER_HOME or XDG_* variable",
    "another PYTHON* variable or character set": "hooks run with other PYTHON* variables or another character set",
    "another user": "another user has tried to call it",
}
"""Why callers are sent away that would be again and again, and what that means."""

_REMEDY = {
    "another installation": "hookrouter install, with the hookrouter that the router is of",
    "another home": "start a router with these variables, too, or register the hooks with HOOKROUTER_HOME set",
    "another PYTHON* variable or character set": "start the router with the environment that Claude Code is started in",
    "another user": "find out who; nothing was given to them",
}


class RouterCheck:
    """The router of this home, its unit, and ``[serve] auto``."""

    name = _NAME

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found. A router is asked; nothing is started."""
        yield from place.problems(_NAME, "serve")
        try:
            status = control.ask(place.app.home.router)
        except control.NotServedError as error:
            if error.is_hung:
                message = f"{error}; a call waits 2 s for it, and then runs by itself"
                yield Finding(ERROR, _NAME, printable(message), _end_command(place.app))
            else:
                yield from _without(place.app)
        else:
            yield from _router(status, place.app)
        yield from _faults(place.app)
        yield from _unit(place.app)


def _faults(app: Services) -> Iterator[Finding]:
    for _, text in faults(app):
        yield Finding(WARNING, _NAME, printable(text), "fix that")


def _end_command(app: Services) -> str:
    return f"end the process that holds {os.path.join(app.home.router, 'lock')} (fuser -k), then: hookrouter serve"


def _without(app: Services) -> Iterator[Finding]:
    said = _last_words(app) if app.config.serve.auto else ""
    if said:
        message = f"[serve] auto is set, and the last router that it started could not run: {said}"
        yield Finding(WARNING, _NAME, message, "fix that; hookrouter serve shows whether it is")
    elif app.config.serve.auto:
        yield Finding(OK, _NAME, "none runs; the next call starts one")
    else:
        message = "none runs, so each hook starts its own process; only hookrouter watch sees dialogs that fire no hook"
        yield Finding(OK, _NAME, message)


def _last_words(app: Services) -> str:
    """Return the last line that a router wrote which [serve] auto has started, if it was about its end."""
    lines = read_end(os.path.join(app.home.logs, LOG), _LOG_END).data.decode("utf-8", "replace").splitlines()
    last = printable(lines[-1]) if lines else ""
    return "" if any(words in last for words in _NO_END) else last


def _router(status: dict[str, Any], app: Services) -> Iterator[Finding]:
    wrong = [*_foreign(status, app), *_sent_away(status), *_state(status)]
    yield from wrong
    if not wrong:
        calls, megabytes = _number(status, "calls"), _number(status, "memory_kb") // 1024
        yield Finding(OK, _NAME, f"runs since {_text(status, 'since')}: {calls} calls, {megabytes} MB")
    yield from _resident(status)
    refused = [printable(str(name)) for name in _list(status, "not_loaded")]
    if refused:
        message = "each call loads for itself what leaves a thread, a descriptor or a handler behind, or takes long: "
        yield Finding(OK, _NAME, message + ", ".join(refused))


def _resident(status: dict[str, Any]) -> Iterator[Finding]:
    """Look whether something keeps a process beside the router from its work; the mod's check tells of the gate."""
    for name, part in status.items():
        problem = printable(str(part.get("problem") or "")) if isinstance(part, dict) and name != "gate" else ""
        if problem == extra_missing("page"):
            # It is asked for by default.
            yield Finding(OK, _NAME, f"no {printable(name)}: {problem}")
        elif problem:
            yield Finding(
                WARNING, _NAME, f"no {printable(name)}: {problem}", "fix that; the router checks again by itself"
            )


def _foreign(status: dict[str, Any], app: Services) -> Iterator[Finding]:
    """Look whether the router is of this installation and home."""
    version, home, program = _text(status, "version"), _text(status, "home"), _list(status, "program")
    if version != __version__:
        message = f"the router is hookrouter {version}, this is {__version__}"
        yield Finding(WARNING, _NAME, message, "hookrouter serve --restart")
    if home != printable(app.home.root):
        message = f"the router serves {home}, and not {printable(app.home.root)}, with the same state folder"
        yield Finding(ERROR, _NAME, message, "give each home a state folder of its own, by HOOKROUTER_HOME")
    if program != script_argv():
        words = printable(" ".join(str(word) for word in program))
        message = f"the router is of another installation, {words}, and sends this one's calls away"
        yield Finding(WARNING, _NAME, message, "hookrouter serve --stop, then start this one: hookrouter serve")


def _sent_away(status: dict[str, Any]) -> Iterator[Finding]:
    """Look for reasons to send callers away that do not pass by themselves."""
    reasons = status.get("sent_away")
    for reason, count in reasons.items() if isinstance(reasons, dict) else ():
        if reason in _AWAY:
            message = f"{count} calls were sent away, to run by themselves: {_AWAY[reason]}"
            yield Finding(WARNING, _NAME, message, _REMEDY[reason])


def _state(status: dict[str, Any]) -> Iterator[Finding]:
    megabytes = _number(status, "memory_kb") // 1024
    if megabytes * 1024 > _MUCH_MEMORY:
        yield Finding(WARNING, _NAME, f"the router has grown to {megabytes} MB", "hookrouter serve --restart")
    if _number(status, "died"):
        message = f"{status['died']} calls have ended badly: killed, or without an answer"
        yield Finding(WARNING, _NAME, message, "hookrouter logs --level error")
    missing = [printable(str(name)) for name in _list(status, "missing_variables")]
    if missing:
        message = (
            f"the router's environment lacks {', '.join(missing)}, which gateways need for what it delivers itself"
        )
        fix = "start it where they are set, or name files instead: KEY_file in the gateway's table"
        yield Finding(WARNING, _NAME, message, fix)


def _unit(app: Services) -> Iterator[Finding]:
    """Look at the unit of systemd or launchd, if one is installed."""
    try:
        unit = service(app.home, app.environ, script_argv())
        present = {path: text for path, text in unit.present().items() if text is not None}
    except (UnitError, OSError, UnicodeDecodeError):
        return
    fix = "hookrouter serve --install-unit"
    if not present:
        return
    if any(started_program(text) != started_program(unit.files[path]) for path, text in present.items()):
        yield Finding(WARNING, _NAME, f"the unit {unit.name} starts another program", fix)
    elif len(present) < len(unit.files):
        yield Finding(WARNING, _NAME, f"a file of the unit {unit.name} is missing", fix)
    elif not os.path.exists(os.path.join(app.home.router, address.CALLS)):
        yield Finding(WARNING, _NAME, f"the unit {unit.name} is installed, and nothing listens", fix)
    else:
        yield Finding(OK, _NAME, f"the unit {unit.name} is installed")


def _text(status: dict[str, Any], key: str) -> str:
    return printable(str(status.get(key, "")))


def _number(status: dict[str, Any], key: str) -> int:
    value = status.get(key)
    return value if isinstance(value, int) else 0


def _list(status: dict[str, Any], key: str) -> list[Any]:
    value = status.get(key)
    return value if isinstance(value, list) else []
