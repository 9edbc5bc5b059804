"""The router as a service of the user: a systemd unit with its socket, or a launchd agent.

Either listens on the socket for calls from the login on, and starts the router at the first one. Only the files are
hookrouter's; what switches them on are commands of the system.
"""

from __future__ import annotations

import os
import plistlib
import re
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._serving import address
from hookrouter._serving.sockets import LAUNCHD_LABEL, LAUNCHD_SOCKET
from hookrouter.storage.documents import replace_file
from hookrouter.storage.home import HOME_VARIABLE, users_home
from hookrouter.util.errors import HookrouterError
from hookrouter.util.filenames import digest
from hookrouter.util.process_log import FORMAT_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.storage.home import Home

__all__ = ["Service", "UnitError", "service", "started_program", "switch", "switch_on"]

_XDG = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_LONGEST_ADDRESS = {"darwin": 103}
"""Bytes of the longest path of a socket that launchd or systemd can make."""
_LONGEST = 107
_SECONDS = 30.0
_ENDING = 5.0
"""Seconds that the system may take to end what ran."""
_PAUSE = 0.2
_SHELL = ("PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""What a service manager sets in its own way: its PATH does not lead to what Homebrew or npm has installed."""
_STARTED = re.compile(r"^ExecStart=[^\n]*$|<key>ProgramArguments</key>\s*<array>.*?</array>", re.MULTILINE | re.DOTALL)


class UnitError(HookrouterError):
    """There can be no service for this home; the message says why."""


class Service(NamedTuple):
    """What makes the router of one home a service."""

    name: str
    """What a person calls it in the system's own commands."""
    files: Mapping[str, str]
    """The text of each file, by its absolute path."""
    end: Sequence[Sequence[str]]
    """The commands that end what a former installation has begun; each fails if there is nothing to end."""
    enable: Sequence[Sequence[str]]
    """The commands that switch it on then, once the files are there."""
    disable: Sequence[Sequence[str]]
    """The commands that switch it off while the files are there."""
    forget: Sequence[Sequence[str]]
    """The commands that follow once the files are gone."""

    def present(self) -> dict[str, str | None]:
        """Return what each file says now; None for one that is not there. Raises OSError or UnicodeDecodeError."""
        return {path: _read(path) for path in self.files}

    def write(self) -> None:
        """Write the files. Raises OSError."""
        for path, text in self.files.items():
            _write(path, text)

    def remove(self) -> None:
        """Remove the files. Raises OSError."""
        for path in self.files:
            with suppress(FileNotFoundError):
                os.unlink(path)


def service(home: Home, environ: Mapping[str, str], program: Sequence[str], platform: str = sys.platform) -> Service:
    """Return the service of a home.

    ``program`` is what ``script_argv()`` says, ``platform`` as ``sys.platform``. Raises UnitError, and HomeError
    without a user's home.
    """
    socket_path = os.path.join(home.router, address.CALLS)
    longest = _LONGEST_ADDRESS.get(platform, _LONGEST)
    if len(os.fsencode(socket_path)) > longest:
        raise UnitError(f"{socket_path} is longer than the {longest} bytes that a socket's address may have")
    variables = _variables(home, environ)
    for text in (socket_path, *program, *variables.values()):
        if not text.isprintable():
            raise UnitError(f"{text!r} holds a character that such a file cannot hold")
    if platform == "darwin":
        return _launchd(home, environ, [*program, "serve"], variables, socket_path)
    return _systemd(environ, [*program, "serve"], variables, socket_path)


def started_program(text: str) -> str:
    """Return the part of a file's text that says what is started; empty for a file that starts nothing."""
    found = _STARTED.search(text)
    return found[0] if found else ""


def switch_on(unit: Service) -> str:
    """Switch a service on whose files are there, whatever runs of it; return what the system says if it cannot be."""
    for command in unit.end:
        switch([command])
    deadline = time.monotonic() + _ENDING
    while problem := switch(unit.enable):
        # launchd ends an agent after its command has returned, and refuses it until then.
        if not unit.end or time.monotonic() >= deadline:
            break
        time.sleep(_PAUSE)
    return problem


def switch(commands: Sequence[Sequence[str]]) -> str:
    """Run commands of the system, up to the first one that fails; return what it says, empty if none does."""
    for command in commands:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)
        except FileNotFoundError:
            return f"there is no {command[0]} here"
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            return said.splitlines()[0] if said else f"{command[0]} ended with {done.returncode}"
    return ""


def _variables(home: Home, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without which it would be another home's, another interpreter, or find other programs."""
    found = {name: value for name, value in environ.items() if name.startswith("PYTHON") and value}
    found.update({name: environ[name] for name in _SHELL if environ.get(name, "").isprintable() and environ.get(name)})
    if environ.get(FORMAT_VARIABLE):
        found[FORMAT_VARIABLE] = environ[FORMAT_VARIABLE]
    if environ.get(HOME_VARIABLE):
        found[HOME_VARIABLE] = home.root
    else:
        found.update({name: environ[name] for name in _XDG if environ.get(name, "").startswith("/")})
    return dict(sorted(found.items()))


def _suffix(variables: Mapping[str, str]) -> str:
    return f"-{digest(variables[HOME_VARIABLE])[:8]}" if HOME_VARIABLE in variables else ""


def _systemd(
    environ: Mapping[str, str], words: Sequence[str], variables: Mapping[str, str], socket_path: str
) -> Service:
    name = f"hookrouter{_suffix(variables)}"
    config = environ.get("XDG_CONFIG_HOME", "")
    folder = config if config.startswith("/") else os.path.join(users_home(environ), ".config")
    units = os.path.join(folder, "systemd", "user")
    lines = "".join(f"Environment={_quoted(f'{key}={value}')}\n" for key, value in variables.items())
    # $ begins a variable in the arguments, but not in the program's path.
    command = " ".join([_quoted(words[0]), *(_quoted(word).replace("$", "$$") for word in words[1:])])
    unit = f"""\
# Written by: hookrouter serve --install-unit
[Unit]
Description=hookrouter's router: serves Claude Code's hooks
Requires={name}.socket
After={name}.socket

[Service]
ExecStart={command}
ExecReload=kill -HUP $MAINPID
{lines}# Calls that it serves are processes of their own, and outlive it.
KillMode=process
Restart=on-failure

[Install]
Also={name}.socket
"""
    listening = f"""\
# Written by: hookrouter serve --install-unit
[Unit]
Description=Where Claude Code's hooks call hookrouter's router

[Socket]
ListenStream={_percent(socket_path)}
SocketMode=0600
DirectoryMode=0700
# Of callers that left before the router took them, it need not hear.
FlushPending=yes

[Install]
WantedBy=sockets.target
"""
    control = ["systemctl", "--user"]
    return Service(
        name=f"{name}.socket",
        files={
            os.path.join(units, f"{name}.service"): unit,
            os.path.join(units, f"{name}.socket"): listening,
        },
        end=(),
        enable=(
            [*control, "daemon-reload"],
            # What runs has the former files.
            [*control, "stop", f"{name}.socket", f"{name}.service"],
            [*control, "enable", "--now", f"{name}.socket"],
        ),
        disable=([*control, "disable", "--now", f"{name}.socket", f"{name}.service"],),
        forget=([*control, "daemon-reload"],),
    )


def _launchd(
    home: Home, environ: Mapping[str, str], words: Sequence[str], variables: Mapping[str, str], socket_path: str
) -> Service:
    label = f"{LAUNCHD_LABEL}{_suffix(variables)}"
    path = os.path.join(users_home(environ), "Library", "LaunchAgents", f"{label}.plist")
    agent = {
        "Label": label,
        "ProgramArguments": list(words),
        "EnvironmentVariables": dict(variables),
        "Sockets": {LAUNCHD_SOCKET: {"SockPathName": socket_path, "SockPathMode": 0o600}},
        "KeepAlive": {"SuccessfulExit": False},
        # Calls that it serves are processes of their own, and outlive it.
        "AbandonProcessGroup": True,
        "ProcessType": "Interactive",
        "StandardErrorPath": os.path.join(home.logs, "serve.log"),
        "Umask": 0o077,
    }
    domain = f"gui/{os.getuid()}"
    return Service(
        name=label,
        files={path: plistlib.dumps(agent).decode()},
        end=(["launchctl", "bootout", f"{domain}/{label}"],),
        enable=(["launchctl", "bootstrap", domain, path],),
        disable=(["launchctl", "bootout", f"{domain}/{label}"],),
        forget=(),
    )


def _percent(text: str) -> str:
    """Return a text for systemd, to which % begins a specifier."""
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """Return one word of a list of words for systemd."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return _percent(f'"{escaped}"')


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    replace_file(path, text.encode(), durable=False)
