"""A real PostgreSQL server in a folder of its own, which ends with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

from hookrouter.testing.pytest_plugin import skip_without

__all__ = ["GUARDED", "PASSWORD", "USER", "Server", "postgres_server", "programs", "unprivileged"]

_SECONDS = 60.0
USER = "hookrouter"
GUARDED = "guarded"
"""A role, if a test makes it, of which the server wants a password."""
PASSWORD = "a-password-that-nobody-may-see"
_numbers = count()


def programs() -> Path | None:
    """Return the folder of the newest server that Debian has installed; None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def unprivileged() -> list[str]:
    """Return what begins the words of a program that must not run as root, and that is to end with this process."""
    words = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        words += ["--reuid", _user().pw_name, "--regid", str(_user().pw_gid), "--clear-groups"]
    return words


def _user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("this machine has neither the user postgres nor nobody")


class Server:
    """A server on a Unix socket in its own folder, which trusts whoever may enter that."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.folder = folder
        self._bin = bin_folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._initialise()
        self.start()

    def _initialise(self) -> None:
        self.give(self.folder)
        words = ["--pgdata", str(self._data), "--username", USER, "--auth", "trust", "--encoding", "UTF8", "--no-sync"]
        done = subprocess.run(
            [*unprivileged(), str(self._bin / "initdb"), *words, "--locale", "C.UTF-8"],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stderr
        (self._data / "pg_hba.conf").write_text(f"local all {GUARDED} scram-sha-256\nlocal all all trust\n")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n"
                "shared_buffers = 32MB\nmax_connections = 60\n"
            )

    def give(self, path: Path) -> None:
        """Make a file or folder that of the user that the server runs as."""
        if os.geteuid() == 0:
            os.chown(path, _user().pw_uid, _user().pw_gid)

    def subfolder(self, name: str) -> Path:
        """Return a new folder beside the data."""
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        self.give(folder)
        return folder

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*unprivileged(), str(self._bin / "postgres"), "-D", str(self._data)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(self.dsn()).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once, as a crash would leave its clients."""
        if self._process is not None:
            self.resume()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_SECONDS)
            self._process = None

    def _pids(self) -> list[int]:
        assert self._process is not None
        found = [self._process.pid]
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return [*found, *map(int, children)]

    def pause(self) -> None:
        """Have all its processes do nothing, without closing anything."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Have them go on."""
        if self._process is not None:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._pids():
            # One that served a connection may have ended meanwhile.
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def restore(self) -> None:
        """Have it run as before, if it was paused or stopped."""
        if self._process is None:
            self.start()
        else:
            self.resume()

    def dsn(self, user: str = USER, password: str = PASSWORD) -> str:
        """Return where it is; the password is not asked for, and is to be seen nowhere."""
        return f"host={self.folder} dbname=postgres user={user} password={password}"

    def schema(self) -> str:
        """Return the name of a schema that nobody has used."""
        return f"home_{next(_numbers)}"

    def ask(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run one statement as the server's owner."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def postgres_server() -> Iterator[Server]:
    """Yield a server; where there is none the test is skipped, or fails with ``HOOKROUTER_REQUIRE_LIVE=1``."""
    bin_folder = programs()
    if bin_folder is None or shutil.which("setpriv") is None:
        skip_without("PostgreSQL is missing: apt-get install postgresql")
        raise AssertionError
    # Not below pytest's folders, which are closed to the user that it runs as.
    folder = Path(tempfile.mkdtemp(prefix="hookrouter-postgres-"))
    try:
        server = Server(folder, bin_folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
