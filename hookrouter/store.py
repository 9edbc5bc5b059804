"""One folder of JSON documents that several processes read and write, and that survives any of them being killed.

A document is a file ``KIND-NAME.json``, replaced as a whole through a temporary file of its own in the same folder, so
that a reader sees the old one or the new one. Whatever cannot be read is moved to ``quarantine/`` and reported.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from hookrouter import _json
from hookrouter.clock import iso
from hookrouter.home import ensure, ensure_once
from hookrouter.names import decode_name, encode_name

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import NoReturn

__all__ = ["Lock", "Store", "StoreBusy", "StoreError", "replace_file"]

_SUFFIX = ".json"
_TEMPORARY = ".tmp"
_ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file has lost its writer: no write takes that long."""
_LOCK_POLL = 0.02
"""Seconds between two tries at a lock."""

_REMEDIES = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space: your disk quota is used up",
    errno.EROFS: "the file system is read-only; set HOOKROUTER_HOME to a folder that you can write",
    errno.EACCES: "make it yours, or set HOOKROUTER_HOME to a folder that you can write",
    errno.EPERM: "make it yours, or set HOOKROUTER_HOME to a folder that you can write",
    errno.ENOTDIR: "a file is where a folder should be; move it away",
    errno.EISDIR: "a folder is where a file should be; move it away",
}


class StoreError(Exception):
    """The store's folder does not allow what was asked; the message names the path and what to do."""


class StoreBusy(StoreError):
    """Another process holds the lock; the message says which."""

    def __init__(self, holder: str) -> None:
        """``holder`` describes the process that holds it."""
        super().__init__(holder)
        self.holder = holder


class Store:
    """One folder of documents. Makes the folder, or closes it to others, before the first write of a process."""

    def __init__(self, folder: str, report: Callable[[str], None], *, base: str | None = None) -> None:
        """``report`` hears of every document that had to be moved to quarantine.

        ``base`` is a folder above, which is to be closed to others too.
        """
        self.folder = folder
        self._report = report
        self._folders = (folder,) if base is None else (base, folder)

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        """Save one document in place of the former one, and return its path.

        ``kind`` is a lower-case word with dashes, and no kind may be another one and a dash. With ``durable`` the
        document is on the disk, and not only in the system's memory, before this returns. Raises StoreError, and the
        former document then is untouched; TypeError or ValueError for a document that is not JSON.
        """
        path = self._path(kind, name)
        data = _json.dumps(dict(document)).encode("ascii")
        try:
            for folder in self._folders:
                ensure_once(folder)
            try:
                replace_file(path, data, durable=durable)
            except FileNotFoundError:
                ensure(self.folder)
                replace_file(path, data, durable=durable)
        except OSError as error:
            _refuse("write", path, error)
        return path

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        """Return one document, or None where there is none or it was corrupt.

        A corrupt one (broken JSON, not an object, not even a file) is moved to quarantine and reported. Raises
        StoreError where the file is there and cannot be read.
        """
        return self._read(self._path(kind, name))

    def delete(self, kind: str, name: str) -> bool:
        """Remove one document; return whether there was one. Raises StoreError where it cannot be removed."""
        path = self._path(kind, name)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            _refuse("remove", path, error)
        return True

    def entries(self, kind: str) -> list[tuple[str, dict[str, object]]]:
        """Return name and document of all documents of one kind, sorted by name; corrupt ones as :meth:`read` does.

        Of a name that was too long for a file, the document's ``session`` stands in, if it is the one that was cut.
        """
        try:
            files = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            _refuse("read", self.folder, error)
        prefix = kind + "-"
        found = []
        for file in files:
            if file.startswith(".") and file.endswith(_TEMPORARY):
                _remove_abandoned(os.path.join(self.folder, file))
            elif file.startswith(prefix) and file.endswith(_SUFFIX):
                document = self._read(os.path.join(self.folder, file))
                if document is not None:
                    found.append((_name_of(file[len(prefix) : -len(_SUFFIX)], document), document))
        found.sort(key=lambda entry: entry[0])
        return found

    def lock(self, kind: str, name: str, timeout: float) -> Lock:
        """Return a context manager that holds the lock ``locks/KIND-NAME.lock`` in its block.

        Entering waits up to ``timeout`` seconds (0: not at all) and then raises StoreBusy, which names the holder.
        The lock ends with its process, however that ends. Raises StoreError where the folder cannot be written.
        """
        _check_kind(kind)
        return Lock(self._folders, f"{kind}-{encode_name(name)}.lock", timeout)

    def prune(self, seconds: float) -> None:
        """Remove what was moved to quarantine longer ago than this, and locks as old that nobody holds.

        Raises nothing: what cannot be removed stays.
        """
        import shutil

        for path in _older(os.path.join(self.folder, "quarantine"), seconds, moved=True):
            # A folder may have been where a document should be.
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else _unlink(path)
        for path in _older(os.path.join(self.folder, "locks"), seconds):
            try:
                with Lock(self._folders, os.path.basename(path), 0):
                    continue
            except StoreError:
                continue

    def _path(self, kind: str, name: str) -> str:
        _check_kind(kind)
        return os.path.join(self.folder, f"{kind}-{encode_name(name)}{_SUFFIX}")

    def _read(self, path: str) -> dict[str, object] | None:
        try:
            # Neither a symbolic link is followed nor a pipe waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                return self._quarantine(path, None, "not a regular file")
            _refuse("read", path, error)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return self._quarantine(path, status, "not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read()
        except OSError as error:
            _refuse("read", path, error)
        finally:
            os.close(descriptor)
        try:
            document = _json.loads(data)
        except ValueError as error:
            return self._quarantine(path, status, f"not JSON ({error})")
        if not isinstance(document, dict):
            return self._quarantine(path, status, "not a JSON object")
        return document

    def _quarantine(self, path: str, seen: os.stat_result | None, why: str) -> dict[str, object] | None:
        """Move a corrupt file away and report it; return the good document that replaced it meanwhile, if any."""
        file = os.path.basename(path)
        place = os.path.join(self.folder, "quarantine")
        target = os.path.join(place, f"{file}.{iso().replace(':', '')}-{os.urandom(3).hex()}")
        try:
            now = os.lstat(path)
            if seen is not None and (now.st_ino, now.st_dev) != (seen.st_ino, seen.st_dev):
                return self._read(path)
            ensure(place)
            os.rename(path, target)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report(f"{path} is corrupt ({why}) and could not be moved to {place}: {error.strerror}")
            return None
        self._report(f"{path} was corrupt ({why}) and was moved to {target}")
        return None


class Lock:
    """A lock between processes, for one ``with`` block."""

    def __init__(self, folders: tuple[str, ...], file: str, timeout: float) -> None:
        """Prepare the lock ``locks/file`` in the last of the folders; nothing is taken before the block is entered.

        All the folders are made or closed to others then.
        """
        self._folders = (*folders, os.path.join(folders[-1], "locks"))
        self.path = os.path.join(self._folders[-1], file)
        self._timeout = timeout
        self._descriptor = -1

    def __enter__(self) -> Lock:
        """Take the lock. Raises StoreBusy or StoreError."""
        deadline = time.monotonic() + self._timeout
        while not self._try():
            left = deadline - time.monotonic()
            if left <= 0:
                raise StoreBusy(self._holder())
            time.sleep(min(_LOCK_POLL, left))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        descriptor, self._descriptor = self._descriptor, -1
        # Removed while it is held: whoever waits on this file sees that it is gone and takes the next one.
        _unlink(self.path)
        os.close(descriptor)

    def forget(self) -> None:
        """In a forked child: leave the lock, if it is held, to the parent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _try(self) -> bool:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            for folder in self._folders:
                ensure_once(folder)
            try:
                descriptor = os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                ensure(self._folders[-1])
                descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            _refuse("lock", self.path, error)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_ino != os.stat(self.path).st_ino:
                os.close(descriptor)
                return False
        except (BlockingIOError, FileNotFoundError):
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            _refuse("lock", self.path, error)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()}, since {iso()}\n".encode("ascii"))
        except OSError:
            # A full disk has no room for who holds it; held it is.
            pass
        self._descriptor = descriptor
        return True

    def _holder(self) -> str:
        try:
            with open(self.path, "rb") as file:
                return file.read(200).decode("ascii", "replace").strip() or "another process"
        except OSError:
            return "another process"


def replace_file(path: str, data: bytes, *, durable: bool) -> None:
    """Put ``data`` in place of a file (0600) as one step: readers see all of the old or all of the new.

    With ``durable`` file and folder are on the disk before this returns. Raises OSError, and leaves the old file and
    nothing half-written then.
    """
    folder, file = os.path.split(path)
    temporary = os.path.join(folder, f".{file}.{os.getpid()}-{os.urandom(6).hex()}{_TEMPORARY}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        _unlink(temporary)
        raise
    if durable:
        descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _older(folder: str, seconds: float, *, moved: bool = False) -> list[str]:
    """Return what was last written in a folder, or with ``moved`` also what was moved there, longer ago than this."""
    earliest = time.time() - seconds
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                # Moving a file changes the time of its inode, but not of its content.
                if (status.st_ctime if moved else status.st_mtime) < earliest:
                    found.append(entry.path)
    except OSError:
        return found
    return found


def _check_kind(kind: str) -> None:
    if not kind or not kind.isascii() or not kind.replace("-", "").isalnum():
        raise ValueError(f"{kind!r} is not a kind of document: letters, digits and dashes")


def _name_of(encoded: str, document: Mapping[str, object]) -> str:
    name = decode_name(encoded)
    if name is not None:
        return name
    session = document.get("session")
    return session if isinstance(session, str) and encode_name(session) == encoded else encoded


def _remove_abandoned(path: str) -> None:
    try:
        if time.time() - os.lstat(path).st_mtime > _ABANDONED_AFTER:
            os.unlink(path)
    except OSError:
        return


def _refuse(verb: str, path: str, error: OSError) -> NoReturn:
    remedy = _REMEDIES.get(error.errno or 0)
    raise StoreError(f"cannot {verb} {path}: {error.strerror or error}{'; ' + remedy if remedy else ''}") from error
