"""A real pgbouncer that gives each transaction a connection, in front of a test's server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from hookrouter.testing.pytest_plugin import skip_without
from support.postgres import USER, Server, unprivileged

__all__ = ["pgbouncer"]

_PORT = 6432
_SECONDS = 30.0


@contextmanager
def pgbouncer(server: Server, connections: int = 4) -> Iterator[str]:
    """Yield where the database is through it; without the program the test is skipped, or fails as live ones do."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        skip_without("pgbouncer is missing: apt-get install pgbouncer")
        raise AssertionError
    folder = server.subfolder("pgbouncer")
    (folder / "users").write_text(f'"{USER}" ""\n')
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\npostgres = host={server.folder}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {folder}\n"
        f"listen_port = {_PORT}\npool_mode = transaction\nauth_type = trust\nauth_file = {folder}/users\n"
        f"default_pool_size = {connections}\nlogfile = {folder}/log\npidfile = {folder}/pid\n"
    )
    for path in (config, folder / "users"):
        server.give(path)
    process = subprocess.Popen([*unprivileged(), program, "-q", str(config)], stderr=subprocess.DEVNULL)
    dsn = f"host={folder} port={_PORT} dbname=postgres user={USER}"
    try:
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(dsn).close()
                break
            except psycopg.OperationalError as error:
                assert process.poll() is None, (folder / "log").read_text()
                if time.monotonic() > deadline:
                    raise AssertionError((folder / "log").read_text()) from error
                time.sleep(0.05)
        yield dsn
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(_SECONDS)
