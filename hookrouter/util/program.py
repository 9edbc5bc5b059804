"""Where the installed ``hookrouter`` program is: what settings.json and the agents' commands must name.

A hook's PATH is not the user's, and a version manager's shim costs a second process start, so every command that
hookrouter writes down names the program by its absolute path.
"""

import os
import sys

__all__ = ["PROGRAM", "script_argv"]

PROGRAM = "hookrouter"
"""File name of the installed script."""


def script_argv() -> list[str]:
    """The words that start hookrouter from any folder, the first one an absolute path.

    The script beside the running interpreter comes first: it is the same however hookrouter was called (by the script,
    by a link to it, by ``python -m``), so two installations from one environment write the same words. Then the script
    that is running, then the user's script folder. With no script anywhere: the interpreter with ``-P -m hookrouter``
    (``-P``: a hook's working folder is the user's project, and must not be imported from).

    Imports nothing beyond os and sys; costs one or two file-system calls.
    """
    for path in _candidates():
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return [path]
    return [sys.executable, "-P", "-m", PROGRAM]


def _candidates() -> list[str]:
    paths = []
    if sys.executable:
        paths.append(os.path.join(os.path.dirname(sys.executable), PROGRAM))
    running = sys.argv[0] if sys.argv else ""
    if os.path.basename(running) == PROGRAM:
        paths.append(os.path.abspath(running))
    user_base = getattr(sys.modules.get("site"), "USER_BASE", None)
    if isinstance(user_base, str):
        paths.append(os.path.join(user_base, "bin", PROGRAM))
    paths.append(os.path.join(sys.prefix, "bin", PROGRAM))
    paths.append(os.path.join(sys.prefix, "local", "bin", PROGRAM))
    return paths
