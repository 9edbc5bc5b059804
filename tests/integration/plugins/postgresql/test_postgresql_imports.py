"""What is imported of the driver, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def test_nothing_of_the_driver_is_imported_before_a_document_is_asked_for(tmp_path):
    program = (
        "import sys; from hookrouter_postgresql.engine import PostgresqlEngine as Engine\n"
        "storage = Engine().open(Engine.settings(dsn_env='NOT_SET'), 'one', sys.argv[1])\n"
        "assert not [name for name in sys.modules if name.startswith('psycopg')]\n"
        "storage.store('', print)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert os.listdir(tmp_path) == []
