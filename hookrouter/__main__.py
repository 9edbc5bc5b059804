"""The front door: decides what to import from the first argument, before anything else is loaded.

``run`` starts on every registered tool call, so it goes straight to :mod:`hookrouter._routing.hook_process`;
``deliver`` is the background process that brings wakes to agents, ``queue deliver`` the one that submits what waits in
a session's queue, ``serve --resident`` that of the router, and ``serve --kept`` one that it keeps beside itself;
``storage --share`` brings documents where other machines see them; everything else is the command line for people and
agents.
"""

from __future__ import annotations

import sys

from hookrouter.util.time_limit import signal

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run one command line (without the program's name) and return the exit code."""
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Who started this process does so. The ends of programs would be lost: Python takes all of them for successes.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    arguments = sys.argv[1:] if argv is None else argv
    command = arguments[0] if arguments else ""
    asks_for_help = bool({"--help", "-h"} & set(arguments))
    if command == "run" and not asks_for_help:
        from hookrouter import _wiring
        from hookrouter._routing.hook_process import main as run

        return run(arguments[1:], _wiring)
    if command == "deliver" and not asks_for_help:
        from hookrouter.cli.deliver_process import main as deliver

        return deliver(arguments[1:])
    if arguments[:2] == ["queue", "deliver"] and not asks_for_help:
        from hookrouter.cli.queue_process import main as deliver_queue

        return deliver_queue(arguments[2:])
    if arguments[:2] == ["storage", "--share"]:
        from hookrouter.cli.sharing_process import main as share

        return share(arguments[2:])
    if arguments[:2] == ["serve", "--resident"]:
        from hookrouter.cli.serve_process import main as serve

        return serve(arguments[2:])
    if arguments[:2] == ["serve", "--kept"]:
        from hookrouter._serving.kept_entry import main as kept

        return kept(arguments[2:])
    from hookrouter.cli.main import main as cli

    return cli(arguments)


if __name__ == "__main__":
    sys.exit(main())
