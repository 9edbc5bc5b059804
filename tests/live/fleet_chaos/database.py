"""The database of the fleet, behind a connection that can be cut, on a disk that can be filled."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from support.postgres import USER, Server, postgres_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Database", "database"]

_SOCKET = ".s.PGSQL.5432"
_SPACE = "512m"


class _Line:
    """A socket whose connections go on to the server's; it can be cut, and it can swallow what comes."""

    def __init__(self, folder: Path, server: Path) -> None:
        self._path, self._server = str(folder / _SOCKET), str(server / _SOCKET)
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(asyncio.start_unix_server(self._serve, self._path), self._loop).result()

    def cut(self, is_cut: bool) -> None:
        """Close all connections and refuse new ones, or stop that."""

        def change() -> None:
            self._is_cut = is_cut
            for writer in self._open if is_cut else ():
                writer.transport.abort()

        self._loop.call_soon_threadsafe(change)

    def swallow(self, swallows: bool) -> None:
        """Pass nothing on, and close nothing, as a network does that has gone; or stop that."""
        self._loop.call_soon_threadsafe(self._flows.clear if swallows else self._flows.set)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if not self._is_cut:
                to_reader, to_writer = await asyncio.open_unix_connection(self._server)
                self._open.add(to_writer)
                try:
                    await asyncio.gather(self._pass_on(reader, to_writer), self._pass_on(to_reader, writer))
                finally:
                    self._open.discard(to_writer)
                    to_writer.transport.abort()
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._flows.wait()
            writer.write(data)
            await writer.drain()
        # Either side has ended: so does the other.
        writer.transport.abort()


class Database:
    """A server, and what can happen to it. Each thing is over when its call returns."""

    def __init__(self, server: Server) -> None:
        self.server = server
        folder = server.subfolder("line")
        folder.chmod(0o755)
        self.dsn = f"host={folder} dbname=postgres user={USER}"
        self._line = _Line(folder, server.folder)
        self._disk: Path | None = None

    @contextlib.contextmanager
    def small_disk(self) -> Iterator[bool]:
        """Keep tables on a file system of their own, which can be filled; say whether this user may make one."""
        folder = self.server.subfolder("disk")
        words = ["mount", "-t", "tmpfs", "-o", f"size={_SPACE}", "tmpfs", str(folder)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            yield False
            return
        try:
            self.server.give(folder)
            space = folder / "space"
            space.mkdir()
            self.server.give(space)
            self.server.ask(f"CREATE TABLESPACE small LOCATION '{space}'")
            self.server.ask(f"ALTER ROLE {USER} SET default_tablespace = small")
            self._disk = folder
            yield True
        finally:
            self.server.stop()
            subprocess.run(["umount", "-l", str(folder)], check=False)

    def restart(self, rest: Callable[[], object]) -> None:
        """End it as a crash does, and start it after a while."""
        self.server.stop()
        rest()
        self.server.start()

    def pause(self, rest: Callable[[], object]) -> None:
        """Have it stand still for a while."""
        self.server.pause()
        rest()
        self.server.resume()

    def end_connections(self, rest: Callable[[], object]) -> None:
        """Have the server end all connections, now and after a while."""
        for _ in range(2):
            with contextlib.suppress(psycopg.Error):
                self.server.ask(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND application_name = 'hookrouter'"
                )
            rest()

    def cut(self, rest: Callable[[], object]) -> None:
        """Close the way to it for a while."""
        self._line.cut(True)
        rest()
        self._line.cut(False)

    def swallow(self, rest: Callable[[], object]) -> None:
        """Have nothing pass for a while, in neither direction."""
        self._line.swallow(True)
        rest()
        self._line.swallow(False)

    def fill(self, rest: Callable[[], object]) -> None:
        """Leave no space on the disk of the tables for a while."""
        assert self._disk is not None
        filler = self._disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        rest()
        filler.unlink()


@contextlib.contextmanager
def database() -> Iterator[Database]:
    """Yield a server of its own; see :func:`support.postgres.postgres_server`."""
    with postgres_server() as server:
        yield Database(server)
