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
from typing import IO, TYPE_CHECKING, Annotated, Literal, cast

import attrs

from hookrouter.messaging import trace_context
from hookrouter.messaging.environment import is_claudes
from hookrouter.messaging.fields import FilePath, Seconds, refuse
from hookrouter.messaging.gateway import Gateway, Message, SendResult
from hookrouter.messaging.http import redact
from hookrouter.messaging.secrets import SecretError, named_secret, read_secret, secret_faults
from hookrouter.storage.home import Home
from hookrouter.storage.logs import LOG_BYTES, LOG_FLAGS, prepare_log
from hookrouter.util.filenames import encode_name
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CommandGateway"]

DEFAULT_TIMEOUT = 60.0
"""Seconds that a program may run if the table names no ``timeout``."""

TAIL = 2000
"""How much of the end of stderr, in characters, becomes the reason of a failure."""

STDERR_BYTES = 64 * 1024
"""How much of the end of stderr goes to the log."""

TERMINATE_SECONDS = 2.0
"""Seconds between SIGTERM and SIGKILL for a program that ran too long."""

HOPELESS = {
    os.EX_USAGE: "it was called wrongly",
    os.EX_DATAERR: "it cannot use this message",
    os.EX_CONFIG: "its configuration is wrong",
}
"""Exit codes by which a program says that trying again cannot help. All others but 0 ask for another try, as
``EX_TEMPFAIL`` (75) says in so many words."""

LOOK_SECONDS = 1.0
"""How often the size of the output is looked at."""


def _program(value: list[str]) -> list[str]:
    if not value or not value[0] or not all(map(_is_argument, value)):
        refuse(value, 'a list of texts that begins with the program, as in ["my-agent", "--wake"]')
    return value


def _globs(value: list[str]) -> list[str]:
    if not all(_is_argument(name) and name and "=" not in name for name in value):
        refuse(value, 'a list of names and globs, as in ["PATH", "LC_*"]')
    return value


@attrs.frozen
class CommandSettings:
    """A ``[gateways.NAME]`` table."""

    argv: Annotated[list[str], _program] = attrs.field(
        metadata={
            "help": "the program and its arguments; no shell reads it",
            "example": '["~/bin/wake-agent", "night-shift"]',
        },
    )
    timeout: Seconds = attrs.field(
        default=DEFAULT_TIMEOUT, metadata={"help": "seconds that the program may run", "example": "60"}
    )
    cwd: FilePath = attrs.field(
        default="~",
        metadata={"help": "the folder in which it runs", "example": '"~/agent"'},
    )
    format: Literal["text", "json"] = attrs.field(
        default="text",
        metadata={
            "help": "what the program gets on stdin: text, the message alone; json, all of it as one object",
            "example": '"json"',
        },
    )
    env: Annotated[list[str], _globs] | None = attrs.field(
        default=None,
        metadata={
            "help": "names and globs of the variables that the program gets; by default all except the session's",
            "example": '["PATH", "LC_*"]',
        },
    )
    set: dict[str, str] = attrs.field(
        factory=dict,
        metadata={
            "help": "further variables; a secret is named as NAME_env or NAME_file",
            "example": '{ MODE = "night" }',
        },
    )


class CommandGateway(Gateway):
    """Wakes an agent by running a program."""

    type = "command"
    settings = CommandSettings

    def check(self, settings: CommandSettings) -> list[str]:
        """Return what is wrong with the variables that are set, or why the program would not be found."""
        problems = _set_faults(settings.set)
        if problems:
            return problems
        try:
            environ = _variables(settings, os.environ)
        except SecretError as error:
            return [str(error)]
        missing = _missing(os.path.expanduser(settings.argv[0]), os.path.expanduser(settings.cwd), environ)
        return [f"argv: {missing}"] if missing else []

    def deliver(self, message: Message, settings: CommandSettings) -> SendResult:
        """Run the program and wait for it: delivered is an exit code of 0 within the timeout.

        Of the other codes :data:`HOPELESS` are not tried again, until the table or a secret of it changes.

        Its stdout goes to ``logs/gateway-<name>.log``, its stderr too, after it has ended. A program that leaves a
        process behind and exits has delivered; that process is left alone.
        """
        try:
            return _run(message, settings)
        except SecretError as error:
            return SendResult(delivered=False, reason=str(error))
        except OSError as error:
            # A program that is missing now may be there at the next try.
            return SendResult(
                delivered=False, reason=f"{error.strerror or error}: {error.filename or settings.argv[0]}"
            )


def _run(message: Message, settings: CommandSettings) -> SendResult:
    argv = [os.path.expanduser(settings.argv[0]), *settings.argv[1:]]
    cwd = os.path.expanduser(settings.cwd)
    if not os.path.isdir(cwd):
        return SendResult(delivered=False, reason=f"cwd is not a folder: {cwd}")
    environ = _variables(settings, os.environ) | _about(message)
    if trace_context.current():
        environ[trace_context.VARIABLE] = trace_context.current()
    path = prepare_log(Home.from_environ(os.environ), f"gateway-{encode_name(message.gateway)}.log")
    log = os.open(path, LOG_FLAGS, 0o600)
    # Files, not pipes: a program that does not read, or that leaves a child behind, blocks nobody.
    with os.fdopen(log, "ab", buffering=0) as output, tempfile.TemporaryFile() as stdin, _appending_file() as stderr:
        stdin.write(_stdin(message, settings.format))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                argv, stdin=stdin, stdout=output, stderr=stderr, cwd=cwd, env=environ, start_new_session=True
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            return SendResult(delivered=False, reason=_not_started(argv[0], cwd, environ, error))
        try:
            code = _wait(process, settings.timeout, output, stderr)
        finally:
            if process.returncode is None:
                _kill_group(process)
        said = _end(stderr, STDERR_BYTES)
        output.write(said)
    if code == 0:
        return SendResult(delivered=True, reason=f"{argv[0]} exited with 0")
    if code is None:
        reason = f"{argv[0]} took longer than its timeout of {settings.timeout:g} s and was killed"
    elif code < 0:
        reason = f"{argv[0]} was killed by {_signal_name(-code)}"
    else:
        meaning = f" ({HOPELESS[code]})" if code in HOPELESS else ""
        reason = f"{argv[0]} exited with {code}{meaning}"
    # Before it is cut, and written otherwise: a part of a secret is one, too.
    shown = redact(said.decode("utf-8", "replace"), _secrets(settings, environ)).strip()[-TAIL:]
    tail = printable(shown, keep_newlines=True)
    return SendResult(delivered=False, reason=f"{reason}: {tail}" if tail else reason, retry=code not in HOPELESS)


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


def _stdin(message: Message, layout: str) -> bytes:
    text = (
        json.dumps({**message._asdict(), "data": dict(message.data)}, ensure_ascii=True)
        if layout == "json"
        else message.text
    )
    # Half of a surrogate pair has no UTF-8 form, and the payload may hold one.
    return text.encode("utf-8", "backslashreplace")


def _variables(settings: CommandSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the table lets through of an environment, and what it adds. Raises SecretError."""
    variables = {
        name: value
        for name, value in environ.items()
        if not is_claudes(name) and (settings.env is None or any(fnmatchcase(name, glob) for glob in settings.env))
    }
    for key, value in settings.set.items():
        name, indirect = named_secret(key)
        try:
            variables[name] = read_secret({key: value}, name, environ) if indirect else value
        except SecretError as error:
            raise SecretError(f"set.{error}") from None
    return variables


def _secrets(settings: CommandSettings, environ: Mapping[str, str]) -> list[str]:
    """Return what no reason may show: the values of ``set`` that the table only names."""
    names = [name for name, indirect in map(named_secret, settings.set) if indirect]
    # A program may tell the lines of one apart.
    return [part for name in names for part in (environ[name], *environ[name].splitlines())]


def _set_faults(variables: Mapping[str, str]) -> list[str]:
    problems = []
    for key, value in variables.items():
        name, indirect = named_secret(key)
        if not name or "=" in name or not name.isprintable():
            problems.append(f"set: found {key!r}; allowed: the name of an environment variable")
        elif indirect:
            problems += [f"set.{fault}" for fault in secret_faults({key: value}, name, "the value")]
        elif not _is_argument(value):
            problems.append(f"set.{key}: found {value!r}; allowed: a text without NUL")
    return problems


def _about(message: Message) -> dict[str, str]:
    about = {
        "ID": message.id,
        "KIND": message.kind,
        "SESSION": message.session,
        "TOOL_USE_ID": message.tool_use_id,
        "AGENT": message.agent,
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
    """Say why a program would not be found from ``cwd``; empty if it would."""
    folders = [""] if "/" in program else os.get_exec_path(environ)
    files = [path for path in (os.path.join(cwd, folder, program) for folder in folders) if os.path.isfile(path)]
    if not files:
        return f"program not found: {program}"
    return "" if any(os.access(path, os.X_OK) for path in files) else f"program not executable: {files[0]}"


def _is_argument(value: str) -> bool:
    return "\0" not in value


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
