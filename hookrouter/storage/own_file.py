"""Files that count only if the right user has written them."""

from __future__ import annotations

import os
import stat

from hookrouter.util import fastjson

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_out_of_means", "keep_own_json", "read_own_json", "read_trusted", "write_own_json"]


_kept: dict[str, tuple[tuple[int, ...], dict[str, object]]] = {}
"""What :func:`keep_own_json` has read, each with what tells that state of the file from the next."""


def keep_own_json(path: str) -> None:
    """Keep what a file says in this process, for as long as the file is what it is: :func:`read_own_json` returns it.

    For a process that forks others which all read the file. Nobody may change what is returned.
    """
    try:
        status = os.stat(path)
    except OSError:
        _kept.pop(path, None)
        return
    if path not in _kept or _kept[path][0] != _state(status):
        _kept.pop(path, None)
        try:
            document = read_own_json(path, certain=True)
        except OSError:
            return
        # Read after it was looked at: if it has changed since, the state that was seen is not that of the file.
        _kept[path] = _state(status), document


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mtime_ns, status.st_ino, status.st_size, status.st_ctime_ns, status.st_uid


def is_out_of_means(error: OSError) -> bool:
    """Whether this process, or the system, has no descriptors or no memory left: then nothing is said of the file."""
    import errno

    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def read_own_json(path: str, *, certain: bool = False) -> dict[str, object]:
    """Return the JSON object in a file that this user has written; empty if there is no such file. Raises nothing.

    If it must be ``certain``, raises OSError where that cannot be known (:func:`is_out_of_means`).

    What another user has put there does not count, whoever asks: a cache names modules that are imported and decides
    whether a guard runs, and without it the work is only slower.
    """
    try:
        with open(path, "rb", opener=_at_once) as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
                return {}
            if path in _kept and _kept[path][0] == _state(status):
                return _kept[path][1]
            document = fastjson.loads(file.read())
    except OSError as error:
        if certain and is_out_of_means(error):
            raise
        return {}
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _at_once(path: str, flags: int) -> int:
    """Open a file for :func:`open`, which closes a folder again that it refuses. A pipe's writer is not waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def write_own_json(path: str, document: Mapping[str, object]) -> None:
    """Save what :func:`read_own_json` returns (0600), making the folder. Failing costs speed, never correctness."""
    from hookrouter.storage.documents import replace_file
    from hookrouter.storage.home import ensure

    try:
        ensure(os.path.dirname(path))
        replace_file(path, fastjson.dumps(document).encode("ascii"), durable=False)
    except (OSError, TypeError, ValueError):
        return


def read_trusted(path: str) -> bytes:
    """Return the content of a file that a person writes, such as config.toml. Raises OSError if it cannot be read.

    Also if it is not a file but a pipe, for example, for whose writer this process would wait; ``/dev/null`` alone
    counts as an empty file. PermissionError also
    if it belongs to another user: in a folder that others may write, anybody could put one there. Files of root count
    for all, and root reads everybody's.
    """
    with open(path, "rb", opener=_at_once) as file:
        status, user = os.fstat(file.fileno()), os.geteuid()
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev:
            # Whoever owns it, nobody can put anything there.
            return b""
        if not stat.S_ISREG(status.st_mode):
            import errno

            raise OSError(errno.EINVAL, "it is not a regular file", path)
        owner = status.st_uid
        if user != 0 and owner not in (user, 0):
            import errno

            reason = f"it belongs to the user {owner}, and only your own and root's count; make it yours with chown"
            raise PermissionError(errno.EPERM, reason, path)
        return file.read()
