"""Runs a hook as Claude Code would, by default on a copy of hookrouter's home that is thrown away afterwards.

Plugins run for real, so what they do outside of hookrouter is done; but documents, outbox and journal are the copy's,
and while it is there nothing is delivered from it: no agent is woken, no reminder is sent. A hook that may wait for
somebody is not called, since nobody knows of it (:data:`hookrouter._routing.router.DRY_RUN`).
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._routing.router import DRY_RUN
from hookrouter._routing.tracing import VARIABLE
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter.storage.home import HOME_VARIABLE, Home
from hookrouter.storage.journal import Journal
from hookrouter.storage.journal_query import entries, is_hook_run
from hookrouter.util.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NoReturn

__all__ = ["Result", "run_hook"]

MAX_OUTPUT = 4 * 1024 * 1024
"""Characters of a reply that are kept."""

MAX_COPY = 256 * 1024 * 1024
"""Bytes of a home's state, cache and prompts that are copied; more is refused, before it fills the disk."""

_PREFIX = "hookrouter-dry-run-"
_LOCK = "dry-run.lock"
"""The file in a copy that is locked as long as the copy is used."""

_LEFT_OUT = ("outbox", "quarantine", "locks")
"""What of the state folder is not copied: messages that wait, and what is of no use to a plugin."""
_CLIENT_VARIABLES = ("CLAUDE_PID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_ENV_FILE")
"""What would tie the run to a session of Claude Code in which this is called."""


class Result(NamedTuple):
    """What a hook run came to."""

    record: dict[str, Any]
    """Its journal record, with each plugin's reply; empty if it wrote none."""
    stdout: str
    stderr: str
    exit_code: int | None
    """None if it took longer than it might, and was ended."""


def run_hook(
    home: Home,
    environ: Mapping[str, str],
    event_word: str,
    payload: bytes,
    *,
    folder: object = None,
    for_real: bool = False,
    seconds: float = 30.0,
) -> Result:
    """Run ``hookrouter run EVENT`` on a payload and return what came of it.

    ``home`` is the user's home; the run gets a copy of it, unless ``for_real``: then it changes state, and may wake
    agents, like any other. It is ended after ``seconds``. Its working folder is ``folder``, or the current one if
    that is no folder. Raises OSError if the copy cannot be made or the process cannot be started.
    """
    variables = {name: value for name, value in environ.items() if name not in _CLIENT_VARIABLES}
    variables[VARIABLE] = "1"
    cwd = folder if isinstance(folder, str) and os.path.isdir(folder) else None

    def run(in_home: Home) -> Result:
        return _run(in_home, variables, event_word, payload, cwd, seconds)

    if for_real:
        return run(home)
    _remove_stale()
    variables[DRY_RUN] = variables[ALONE_VARIABLE] = "1"
    with _scratch_folder() as copy:
        scratch = Home.in_folder(copy)
        variables[HOME_VARIABLE] = copy
        _copy(home, scratch)
        # Who finds its lock taken leaves the delivery to the other one.
        with Outbox(scratch, lambda _text: None).locks.delivering():
            return run(scratch)


@contextlib.contextmanager
def _scratch_folder() -> Iterator[str]:
    """Make a folder for one block, and remove it at its end, also if this process is told to end meanwhile."""
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    with open(os.path.join(folder, _LOCK), "wb") as file, _ending_by_exception():
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Have the signals that ask this process to end raise SystemExit in the block, so that it is cleaned up."""

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                former[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _remove_stale() -> None:
    """Remove the copies of this user that killed processes have left behind."""
    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{_PREFIX}*")):
        try:
            if os.lstat(path).st_uid != os.getuid():
                continue
            with open(os.path.join(path, _LOCK), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            # It is in use, has just been made, or is gone by now.
            continue


def _run(
    home: Home, variables: Mapping[str, str], event_word: str, payload: bytes, cwd: str | None, seconds: float
) -> Result:
    # The clock may be set back a little meanwhile.
    since = now() - 5
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hookrouter", "run", event_word],
        env=dict(variables),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # So that whatever a plugin has started can be ended with it.
        start_new_session=True,
    )
    exit_code: int | None = None
    try:
        stdout, stderr = process.communicate(payload, timeout=seconds)
        exit_code = process.returncode
    except subprocess.TimeoutExpired:
        _end(process)
        stdout, stderr = process.communicate()
    except BaseException:
        _end(process)
        process.wait()
        raise
    texts = [data[:MAX_OUTPUT].decode("utf-8", "replace") for data in (stdout, stderr)]
    return Result(_record(home, process.pid, since), texts[0], texts[1], exit_code)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _record(home: Home, pid: int, since: float) -> dict[str, Any]:
    """Return the newest record of a process; a number may have been another's before."""
    found = [
        entry.record
        for entry in entries(Journal(home.logs), since)
        if entry.record.get("pid") == pid and is_hook_run(entry.record)
    ]
    return max(found, key=lambda record: str(record.get("at")), default={})


def _copy(home: Home, scratch: Home) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(home.config_file, scratch.config_file)
    room = MAX_COPY
    folders = (home.state, scratch.state), (home.cache, scratch.cache), (home.prompts, scratch.prompts)
    for source, target in (*folders, (home.plugins, scratch.plugins), (home.trusted, scratch.trusted)):
        if os.path.isdir(source):
            room = _copy_folder(source, target, room)


def _copy_folder(source: str, target: str, room: int) -> int:
    """Copy a folder's files and links and return how many of ``room`` bytes are left. Raises OSError."""
    for place, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        copied = os.path.join(target, os.path.relpath(place, source))
        os.makedirs(copied, mode=0o700, exist_ok=True)
        for name in names:
            path = os.path.join(place, name)
            # Hooks of other sessions write and remove documents meanwhile.
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
                    continue
                room -= status.st_size
                if room < 0:
                    raise OSError(
                        f"{source} holds more than the {MAX_COPY // 1024**2} MiB that a dry run copies; "
                        f"the file that is too much is {path}"
                    )
                shutil.copy2(path, os.path.join(copied, name), follow_symlinks=False)
    return room
