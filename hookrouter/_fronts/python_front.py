"""The front in Python, as a program: ``python -SPc START python_front.py FOLDER COLD... run EVENT``.

START (:data:`hookrouter._installation.front_command.START`) imports this file and calls :func:`run`. FOLDER holds the
router's sockets, and what follows is the command line of the cold run. Python compiles a program at each start, which
takes longer than a call, but keeps the compiled form of a module: so the work is in
:mod:`python_call <hookrouter._fronts.python_call>`.

Entries of before name this file as the program. Python ends with 2 if such a file is gone, which blocks whatever Claude
does; a module that is gone is an error like any other.
"""

import sys


def run(words: list[str]) -> None:
    """Bring a call to the router: the words are this file's path and what follows it. Does not return."""
    if len(words) < 5:
        sys.stderr.write("hookrouter: a front is started by Claude Code: hookrouter install\n")
        sys.exit(1)
    import posix

    import python_call  # type: ignore[import-not-found]

    sys.path.remove(words[0].rpartition("/")[0])
    code = python_call.main(words[1], words[2:])
    # Nothing is left to be done, and the end of an interpreter takes longer than the call.
    posix._exit(code)


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    run([__file__, *sys.argv[1:]])
