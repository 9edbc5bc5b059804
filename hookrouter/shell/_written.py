"""Files that a line writes and runs: what is in them nobody knows before."""

from __future__ import annotations

from hookrouter.shell.commands import Doubt, Why

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.shell.commands import Redirection, SimpleCommand

__all__ = ["written_and_run"]

_NO_FILES = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"])
_RUNS_FILES = frozenset(["source", ".", "bash", "sh", "zsh", "dash", "ash", "rbash"])
_SYSTEM_FOLDERS = tuple(f"{base}{kind}bin/" for base in ("/", "/usr/", "/local/", "/usr/local/") for kind in ("", "s"))


def written_and_run(commands: Sequence[SimpleCommand], redirections: Sequence[Redirection] = ()) -> list[Doubt]:
    """Return a doubt for each command that runs a file to which the line may have written."""
    every = [*redirections, *(one for command in commands for one in command.redirections)]
    written = [one.target.value for one in every if one.direction in ("out", "append") and one.target is not None]
    names = {None if name is None else _base(name) for name in written if name not in _NO_FILES}
    if not names:
        return []
    found = []
    for command in commands:
        run = _files_run(command)
        if run and (None in names or None in run or names & run):
            found.append(Doubt(Why.WRITTEN, command.start, command.end))
    return found


def _files_run(command: SimpleCommand) -> set[str | None]:
    """Return the names of the files that a command runs by their path; None for one that is not known."""
    name = command.name
    if name is None:
        return set()
    run: set[str | None] = {_base(name)} if "/" in name and not name.startswith(_SYSTEM_FOLDERS) else set()
    if _base(name) in _RUNS_FILES:
        values = [word.value for word in command.words[1:]]
        if "-c" not in values:
            run |= {None if value is None else _base(value) for value in values if not (value or "").startswith("-")}
    return run


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
