"""A hook command that only records: it appends the payload on stdin, one JSON line each, to the file named in argv.

Register it as ``PYTHON -P -m hookrouter._sandbox.record_hook FILE`` or by this file's path, which works without an
installed hookrouter.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Append stdin to the file in argv[1] as one line; print nothing, so that the client goes on undisturbed."""
    payload = b" ".join(sys.stdin.buffer.read().splitlines())
    handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, payload + b"\n")
    finally:
        os.close(handle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
