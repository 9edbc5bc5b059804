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
from difflib import get_close_matches
from typing import IO, TYPE_CHECKING, Any, cast

import attrs

from hookrouter.answering import Wake, Woken
from hookrouter.home import Home
from hookrouter.names import encode_name, printable
from hookrouter.outbox import CLAUDE_SECRETS, LOG_BYTES, LOG_FLAGS, prepare_log

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CommandGateway"]

DEFAULT_TIMEOUT = 60.0
"""Seconds that a program may run where the table names no ``timeout``."""

LONGEST_TIMEOUT = 86_400
"""The longest ``timeout`` in seconds: a day."""

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
        missing = _missing(os.path.expanduser(table.argv[0]), os.path.expanduser(table.cwd), os.environ)
        return [f"argv: {missing}"] if missing else []

    def _faults(self, settings: Mapping[str, object]) -> list[str]:
        problems = []
        argv = settings.get("argv")
        if "argv" not in settings:
            problems.append('argv: missing; a list of texts is needed, as in ["my-agent", "--wake"]')
        elif not isinstance(argv, list) or not argv or not all(_is_argument(part) for part in argv) or not argv[0]:
            problems.append(f"argv: found {argv!r}, allowed is a list of texts that begins with the program")
        timeout = settings.get("timeout", DEFAULT_TIMEOUT)
        if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout <= LONGEST_TIMEOUT:
            problems.append(f"timeout: found {timeout!r}, allowed are seconds above 0 and up to {LONGEST_TIMEOUT}")
        cwd = settings.get("cwd", "~")
        if not _is_argument(cwd) or not os.path.isabs(os.path.expanduser(str(cwd))):
            problems.append(f"cwd: found {cwd!r}, allowed is an absolute path, or one that begins with ~")
        layout = settings.get("format", "text")
        if layout not in FORMATS:
            problems.append(f"format: found {layout!r}, allowed are {' and '.join(map(repr, FORMATS))}")
        known = [field.name for field in attrs.fields(_Table)]
        for key in settings:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
                problems.append(f"{key}: unknown key; {hint}")
        return problems

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
        except OSError as error:
            return Woken(delivered=False, reason=f"{error.strerror or error}: {error.filename or table.argv[0]}")


def _run(wake: Wake, table: _Table) -> Woken:
    argv = [os.path.expanduser(table.argv[0]), *table.argv[1:]]
    cwd = os.path.expanduser(table.cwd)
    if not os.path.isdir(cwd):
        return Woken(delivered=False, reason=f"cwd is not a folder: {cwd}")
    environ = _environment(wake, os.environ)
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


def _environment(wake: Wake, environ: Mapping[str, str]) -> dict[str, str]:
    hidden = CLAUDE_SECRETS | _SESSION_VARIABLES
    variables = {name: value for name, value in environ.items() if name not in hidden}
    about = {
        "ID": wake.id,
        "KIND": wake.kind,
        "SESSION": wake.session,
        "TOOL_USE_ID": wake.tool_use_id,
        "AGENT": wake.agent,
    }
    # What a variable cannot hold is left out: NUL, and half of a surrogate pair.
    texts = {name: value.replace("\0", "").encode("utf-8", "ignore").decode() for name, value in about.items()}
    return variables | {f"HOOKROUTER_WAKE_{name}": text for name, text in texts.items()}


def _not_started(program: str, cwd: str, environ: Mapping[str, str], error: OSError) -> str:
    found = shutil.which(program, path=environ.get("PATH")) if "/" not in program else os.path.join(cwd, program)
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
