"""The program that the terminal contract runs in a pane: shows a text and records every byte that it is given.

``python _pane_program.py FOLDER`` waits for ``FOLDER/sized``, as a pane may get its size later than its program. It
shows ``FOLDER/text`` in raw mode with bracketed paste switched on (unless there is a file ``FOLDER/plain``), writes its
environment, its process id and its working folder to ``FOLDER/environ.json``, and appends what it reads to
``FOLDER/received``. With a further word it does so in a program of another name, as a shell starts one (``script``: as
one without job control does), and shows what it reads itself when that has ended. When it is resized it clears the
screen and shows its new size.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
import time
import tty

__all__ = ["main"]


def main(folder: str) -> None:
    """Run until the input ends."""

    def resized(_number: int, _frame: object) -> None:
        columns, lines = os.get_terminal_size(0)
        os.write(1, f"\x1b[2J\x1b[Hsize {columns}x{lines}\r\n".encode())

    while not os.path.exists(os.path.join(folder, "sized")):
        time.sleep(0.01)
    tty.setraw(0, termios.TCSANOW)
    signal.signal(signal.SIGWINCH, resized)
    with open(os.path.join(folder, "text"), "rb") as text:
        asks = b"" if os.path.exists(os.path.join(folder, "plain")) else b"\x1b[?2004h"
        os.write(1, b"\x1b[2J\x1b[H" + asks + text.read())
    with open(os.path.join(folder, "environ.new"), "w", encoding="utf-8") as file:
        json.dump({**os.environ, "PANE_PROGRAM": str(os.getpid()), "PANE_FOLDER": os.getcwd()}, file)
    os.replace(os.path.join(folder, "environ.new"), os.path.join(folder, "environ.json"))
    while got := os.read(0, 1 << 16):
        with open(os.path.join(folder, "received"), "ab") as received:
            received.write(got)


def start(folder: str, how: str) -> None:
    """Run :func:`main` as a shell runs a program, and then show what is read, as a shell does.

    ``how`` is ``jobs`` for a program that gets the foreground, ``script`` for one that shares it with the shell.
    """
    program = os.path.join(folder, "program")
    os.symlink(sys.executable, program)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()  # noqa: TID251 - a program of its own, without threads
    if child == 0:
        if how == "jobs":
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
        os.execv(  # noqa: S606 - no shell is wanted
            program,
            [
                program,
                "-c",
                f"import runpy, sys; sys.argv[1:] = [{folder!r}]; runpy.run_path({__file__!r}, run_name='__main__')",
            ],
        )
    os.waitpid(child, 0)
    os.tcsetpgrp(0, os.getpgrp())
    os.write(1, b"\r\nwhat follows\r\n")
    while got := os.read(0, 1 << 16):
        os.write(1, f"read {got!r}\r\n".encode())


if __name__ == "__main__":
    (start if len(sys.argv) > 2 else main)(*sys.argv[1:])
