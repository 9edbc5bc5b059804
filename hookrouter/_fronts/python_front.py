"""The front in Python, as a program: ``python -SP python_front.py FOLDER COLD... run EVENT``.

FOLDER holds the router's sockets, and what follows is the command line of the cold run. Python compiles a program at
each start, which takes longer than a call, but keeps the compiled form of a module: so the work is in
:mod:`python_call <hookrouter._fronts.python_call>`.
"""

import sys

if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.stderr.write("hookrouter: a front is started by Claude Code: hookrouter install\n")
        sys.exit(2)
    sys.path.insert(0, __file__.rpartition("/")[0])
    import posix

    import python_call  # type: ignore[import-not-found]

    del sys.path[0]
    code = python_call.main(sys.argv[1], sys.argv[2:])
    # Nothing is left to be done, and the end of an interpreter takes longer than the call.
    posix._exit(code)
