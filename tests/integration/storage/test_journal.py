"""The journal, written by several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys

from hookrouter.storage.journal import Journal


def test_processes_that_write_and_rotate_at_once_lose_no_record(tmp_path):
    writer = """
import sys
from hookrouter.storage.journal import Journal
journal = Journal(sys.argv[1], max_bytes=2000, backups=1000)
for number in range(300):
    assert journal.write({"writer": sys.argv[2], "n": number, "filling": "x" * (number % 90)}, "s")
"""
    writers = [subprocess.Popen([sys.executable, "-c", writer, str(tmp_path), str(name)]) for name in range(4)]
    reader = Journal(str(tmp_path), max_bytes=2000, backups=1000)
    seen = 0
    while any(process.poll() is None for process in writers):
        count = len(reader.records("s"))
        assert count >= seen
        seen = count
    assert [process.returncode for process in writers] == [0] * 4
    records = reader.records("s")
    rotated = [name for name in os.listdir(tmp_path) if name[-1].isdigit()]
    assert len(rotated) > 3
    assert all((tmp_path / name).stat().st_size > 2000 for name in rotated)
    for name in range(4):
        assert [record["n"] for record in records if record["writer"] == str(name)] == list(range(300))
