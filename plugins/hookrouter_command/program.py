"""Runs the user's program for each message, in a process group of its own and with an upper time limit."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import IO, TYPE_CHECKING, Any, cast

import attrs

from hookrouter import checking
from hookrouter.answering import Wake, Woken
from hookrouter.home import Home
from hookrouter.names import encode_name, printable
from hookrouter.outbox import CLAUDE_SECRETS, LOG_BYTES, LOG_FLAGS, prepare_log

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CommandGateway"]

DEFAULT_TIMEOUT = 60.0
"""Seconds that a program may run where the table names no ``timeout``."""

TAIL_BYTES = 2000
"""How much of the end of stderr becomes the reason of a failure."""

STDERR_BYTES = 64 * 1024
"""How much of the end of stderr goes to the log."""

TERMINATE_SECONDS = 2.0
"""Seconds between SIGTERM and SIGKILL for a program that ran too long."""

FORMATS = ("text", "json")

_SESSION_VARIABLES = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_EFFORT",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PID",
        "CLAUDE_PROJECT_DIR",
        "TMUX_PANE",
    }
)
"""Variables of the hook that say which session and pane a process belongs to. The program belongs to neither: an agent
started by it must not take itself for the session that asks."""

LOOK_SECONDS = 1.0
"""How often the size of the output is looked at."""


@attrs.frozen
class _Table:
    """A ``[gateways.NAME]`` table that was checked."""

    argv: list[str]
    timeout: float = DEFAULT_TIMEOUT
    cwd: str = "~"
    format: str = "text"
    env: list[str] | None = None
    set: dict[str, str] = attrs.field(factory=dict)


class CommandGateway:
    """Wakes an agent by running a program."""

    type = "command"

    def check(self, settings: Mapping[str, object]) -> list[str]:
        """Return one problem for each key that is missing, unknown or of the wrong kind.

        In a table without any, the program is looked up, as the delivery does it.
        """
        problems = self._faults(settings)
        if problems:
            return problems
        table = _Table(**cast("dict[str, Any]", dict(settings)))
        try:
            environ = _variables(table, os.environ)
        except checking.SecretError as error:
            return [str(error)]
        missing = _missing(os.path.expanduser(table.argv[0]), os.path.expanduser(table.cwd), environ)
        return [f"argv: {missing}"] if missing else []

    def _faults(self, settings: Mapping[str, object]) -> list[str]:
        problems = []
        argv = settings.get("argv")
        if "argv" not in settings:
            problems.append('argv: missing; a list of texts is needed, as in ["my-agent", "--wake"]')
        elif not isinstance(argv, list) or not argv or not all(_is_argument(part) for part in argv) or not argv[0]:
            problems.append(f"argv: found {argv!r}, allowed is a list of texts that begins with the program")
        if "timeout" in settings:
            problems += checking.seconds_faults(settings, "timeout")
        problems += checking.path_faults(settings, "cwd")
        problems += checking.choice_faults(settings, "format", FORMATS)
        env = settings.get("env", [])
        if not isinstance(env, list) or not all(_is_argument(name) and name and "=" not in name for name in env):
            problems.append(f'env: found {env!r}, allowed is a list of names and globs, as in ["PATH", "LC_*"]')
        problems += _set_faults(settings.get("set", {}))
        return problems + checking.unknown_keys(settings, [field.name for field in attrs.fields(_Table)])

    def deliver(self, wake: Wake, settings: Mapping[str, object]) -> Woken:
        """Run the program and wait for it: delivered is an exit code of 0 within the timeout.

        Its stdout goes to ``logs/gateway-<name>.log``, its stderr too, after it has ended. A program that leaves a
        process behind and exits has delivered; that process is left alone.
        """
        # A program that is missing now may be there at the next try.
        problems = self._faults(settings)
        if problems:
            return Woken(delivered=False, reason="; ".join(problems), retry=False)
        table = _Table(**cast("dict[str, Any]", dict(settings)))
        try:
            return _run(wake, table)
        except checking.SecretError as error:
            return Woken(delivered=False, reason=str(error))
        except OSError as error:
            return Woken(delivered=False, reason=f"{error.strerror or error}: {error.filename or table.argv[0]}")


def _run(wake: Wake, table: _Table) -> Woken:
    argv = [os.path.expanduser(table.argv[0]), *table.argv[1:]]
    cwd = os.path.expanduser(table.cwd)
    if not os.path.isdir(cwd):
        return Woken(delivered=False, reason=f"cwd is not a folder: {cwd}")
    environ = _variables(table, os.environ) | _about(wake)
    path = prepare_log(Home.from_environ(os.environ), f"gateway-{encode_name(wake.gateway)}.log")
    log = os.open(path, LOG_FLAGS, 0o600)
    # Files, not pipes: a program that does not read, or that leaves a child behind, blocks nobody.
    with os.fdopen(log, "ab", buffering=0) as output, tempfile.TemporaryFile() as stdin, _appending_file() as stderr:
        stdin.write(_message(wake, table.format))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                argv, stdin=stdin, stdout=output, stderr=stderr, cwd=cwd, env=environ, start_new_session=True
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            return Woken(delivered=False, reason=_not_started(argv[0], cwd, environ, error))
        try:
            code = _wait(process, table.timeout, output, stderr)
        finally:
            if process.returncode is None:
                _kill_group(process)
        said = _end(stderr, STDERR_BYTES)
        output.write(said)
    if code == 0:
        return Woken(delivered=True, reason=f"{argv[0]} exited with 0")
    if code is None:
        reason = f"{argv[0]} took longer than its timeout of {table.timeout:g} s and was killed"
    elif code < 0:
        reason = f"{argv[0]} was killed by {_signal_name(-code)}"
    else:
        reason = f"{argv[0]} exited with {code}"
    tail = printable(said[-TAIL_BYTES:].decode("utf-8", "replace").strip(), keep_newlines=True)
    return Woken(delivered=False, reason=f"{reason}: {tail}" if tail else reason)


def _wait(process: subprocess.Popen[bytes], timeout: float, *files: IO[bytes]) -> int | None:
    """Return the exit code, or None after the timeout. Files that grow out of bounds meanwhile are emptied."""
    deadline = time.monotonic() + timeout
    while True:
        remaining = deadline - time.monotonic()
        try:
            return process.wait(max(0.0, min(remaining, LOOK_SECONDS)))
        except subprocess.TimeoutExpired:
            if remaining <= 0:
                return None
        for file in files:
            if os.fstat(file.fileno()).st_size > 8 * LOG_BYTES:
                os.ftruncate(file.fileno(), 0)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a program with all processes that it started in its group, and collect it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(TERMINATE_SECONDS)
    # The group may outlive the program that leads it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _appending_file() -> IO[bytes]:
    """Return an unnamed file that processes append to, so that emptying it works while they write."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
    return cast("IO[bytes]", file)


def _end(file: IO[bytes], limit: int) -> bytes:
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), limit, max(0, size - limit))


def _message(wake: Wake, layout: str) -> bytes:
    text = json.dumps(wake._asdict(), ensure_ascii=True) if layout == "json" else wake.text
    # Half of a surrogate pair has no UTF-8 form, and the payload may hold one.
    return text.encode("utf-8", "backslashreplace")


def _variables(table: _Table, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the table lets through of an environment, and what it adds. Raises SecretError."""
    hidden = CLAUDE_SECRETS | _SESSION_VARIABLES
    variables = {
        name: value
        for name, value in environ.items()
        if name not in hidden and (table.env is None or any(fnmatchcase(name, glob) for glob in table.env))
    }
    for key, value in table.set.items():
        name, indirect = checking.named_secret(key)
        try:
            variables[name] = checking.read_secret({key: value}, name, environ) if indirect else value
        except checking.SecretError as error:
            raise checking.SecretError(f"set.{error}") from None
    return variables


def _set_faults(found: object) -> list[str]:
    if not isinstance(found, dict):
        return [f"set: found {found!r}, allowed is a table of variables"]
    problems = []
    for key, value in found.items():
        name, indirect = checking.named_secret(key)
        if not name or "=" in name or not name.isprintable():
            problems.append(f"set: found {key!r}, allowed is the name of an environment variable")
        elif indirect:
            problems += [f"set.{fault}" for fault in checking.secret_faults({key: value}, name, "the value")]
        elif not _is_argument(value):
            problems.append(f"set.{key}: found {value!r}, allowed is a text")
    return problems


def _about(wake: Wake) -> dict[str, str]:
    about = {
        "ID": wake.id,
        "KIND": wake.kind,
        "SESSION": wake.session,
        "TOOL_USE_ID": wake.tool_use_id,
        "AGENT": wake.agent,
    }
    # What a variable cannot hold is left out: NUL, and half of a surrogate pair.
    texts = {name: value.replace("\0", "").encode("utf-8", "ignore").decode() for name, value in about.items()}
    return {f"HOOKROUTER_WAKE_{name}": text for name, text in texts.items()}


def _not_started(program: str, cwd: str, environ: Mapping[str, str], error: OSError) -> str:
    folders = os.pathsep.join(os.get_exec_path(environ))
    found = shutil.which(program, path=folders) if "/" not in program else os.path.join(cwd, program)
    if isinstance(error, PermissionError):
        return f"program not executable: {found or program}"
    if found and os.path.exists(found):
        return f"program {found} cannot start: the interpreter that its first line names was not found"
    return f"program not found: {program}"


def _missing(program: str, cwd: str, environ: Mapping[str, str]) -> str:
    """Say why a program would not be found from ``cwd``; empty where it would."""
    folders = [""] if "/" in program else os.get_exec_path(environ)
    files = [path for path in (os.path.join(cwd, folder, program) for folder in folders) if os.path.isfile(path)]
    if not files:
        return f"program not found: {program}"
    return "" if any(os.access(path, os.X_OK) for path in files) else f"program not executable: {files[0]}"


def _is_argument(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
