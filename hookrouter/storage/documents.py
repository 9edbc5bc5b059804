"""Documents as files: a folder that several processes read and write, and that survives any of them being killed.

The default engine of :class:`hookrouter.storage.interface.DocumentStore`.

A document is a file ``KIND-NAME.json``, replaced as a whole through a temporary file of its own in the same folder, so
that a reader sees the old one or the new one. Whatever cannot be read is moved to ``quarantine/`` and reported.

A file whose name had to be cut holds the whole name beside the document, as its member ``document_name``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from hookrouter.storage.home import ensure, ensure_once
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.filenames import decode_name, encode_name, is_cut
from hookrouter.util.system import sync

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import NoReturn

    from hookrouter.storage.changes import FileWatch

__all__ = ["Lock", "Store", "StoreBusy", "StoreError", "durable_together", "replace_file"]

_SUFFIX = ".json"
_TEMPORARY = ".tmp"
_NAME = "document_name"
"""The member of a file whose name was cut that holds the whole name; no part of the document."""
_ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file has lost its writer: no write takes that long."""
_LOCK_POLL = 0.02
"""Seconds between two tries at a lock."""
_PROBES = 100
"""How often a lock that is only being looked at is tried again, a millisecond apart."""
_REPLACE_SECONDS = 5.0
"""Seconds that a document may be held by another process that replaces it."""

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What a file system answers that has no hard links."""

_REMEDIES = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space: your disk quota is used up",
    errno.EROFS: "the file system is read-only; set HOOKROUTER_HOME to a folder that you can write",
    errno.EACCES: "make it yours, or set HOOKROUTER_HOME to a folder that you can write",
    errno.EPERM: "make it yours, or set HOOKROUTER_HOME to a folder that you can write",
    errno.ENOTDIR: "a file is where a folder should be; move it away",
    errno.EISDIR: "a folder is where a file should be; move it away",
}


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
        self._put(path, _named(path, name, document), durable=durable)
        return path

    def create(
        self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True
    ) -> dict[str, object] | None:
        """Save a document if there is none of this name; return None, or else the document that was there first.

        Of several processes exactly one succeeds. Raises as :meth:`write` does.
        """
        path = self._path(kind, name)
        while True:
            if self._put(path, _named(path, name, document), durable=durable, new=True):
                return None
            first = self._read(path)
            if first is not None:
                return first
            # Deleted meanwhile, or corrupt and now in quarantine.

    def replace(
        self,
        kind: str,
        name: str,
        document: Mapping[str, object],
        *,
        unchanged: Mapping[str, object],
        durable: bool = True,
    ) -> bool:
        """Save a document if the one that is there equals ``unchanged``; return whether it was saved.

        Of several processes that call this with the same ``unchanged`` exactly one succeeds. One that uses
        :meth:`write` or :meth:`delete` meanwhile is not noticed. Raises as :meth:`write` does.
        """
        path = self._path(kind, name)
        # No name is written with an equals sign, so that this is nobody else's lock.
        with Lock(self._folders, f"{kind}-{encode_name(name)}=.lock", _REPLACE_SECONDS):
            if self._read(path) != dict(unchanged):
                return False
            self._put(path, _named(path, name, document), durable=durable)
        return True

    def watch(self, kind: str, name: str | None = None) -> FileWatch:
        """Return a watch on one document, or without ``name`` on all of a kind: :class:`DocumentWatch`."""
        from hookrouter.storage.changes import FileWatch

        if name is not None:
            file = os.path.basename(self._path(kind, name))
            return FileWatch(self._folders, lambda entry: entry == file, file)
        _check_kind(kind)
        return FileWatch(self._folders, lambda entry: entry.startswith(kind + "-") and entry.endswith(_SUFFIX))

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        """Return one document, or None if there is none or it was corrupt.

        A corrupt one (broken JSON, not an object, not even a file) is moved to quarantine and reported. Raises
        StoreError if the file is there and cannot be read.
        """
        return self._read(self._path(kind, name))

    def delete(self, kind: str, name: str) -> bool:
        """Remove one document; return whether there was one. Raises StoreError if it cannot be removed."""
        path = self._path(kind, name)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            _refuse("remove", path, error)
        return True

    def entries(self, kind: str, named: Callable[[str], bool] | None = None) -> list[tuple[str, dict[str, object]]]:
        """Return name and document of all documents of one kind, sorted by name; corrupt ones as :meth:`read` does.

        With ``named`` only files are opened of whose names it says True, and those whose names were cut.
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
                encoded = file[len(prefix) : -len(_SUFFIX)]
                if named is not None and (name := decode_name(encoded)) is not None and not named(name):
                    continue
                content = self._content(os.path.join(self.folder, file))
                if content is not None:
                    name, document = _taken_apart(encoded, content)
                    if named is None or named(name):
                        found.append((name, document))
        found.sort(key=lambda entry: entry[0])
        return found

    def stamps(self, kind: str) -> dict[str, object]:
        """Return, by name, what tells one state of each document of a kind from the next.

        Reads no document but those whose names were cut. Raises StoreError if the folder cannot be listed.
        """
        _check_kind(kind)
        prefix = kind + "-"
        found: dict[str, object] = {}
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    if file.name.startswith(prefix) and file.name.endswith(_SUFFIX):
                        encoded = file.name[len(prefix) : -len(_SUFFIX)]
                        try:
                            status = file.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        content = self._content(file.path) if is_cut(encoded) else {}
                        if content is None:
                            continue
                        name, _ = _taken_apart(encoded, content)
                        found[name] = (status.st_mtime_ns, status.st_ino)
        except FileNotFoundError:
            return {}
        except OSError as error:
            _refuse("read", self.folder, error)
        return found

    def lock(self, kind: str, name: str, timeout: float) -> Lock:
        """Return a context manager that holds the lock ``locks/KIND-NAME.lock`` in its block.

        Entering waits up to ``timeout`` seconds (0: not at all) and then raises StoreBusy, which names the holder.
        The lock ends with its process, however that ends. Raises StoreError if the folder cannot be written.
        """
        _check_kind(kind)
        return Lock(self._folders, f"{kind}-{encode_name(name)}.lock", timeout)

    def lock_holder(self, kind: str, name: str) -> str | None:
        """Return who holds the lock ``locks/KIND-NAME.lock``; None if nobody does. Takes and writes nothing."""
        _check_kind(kind)
        path = os.path.join(self.folder, "locks", f"{kind}-{encode_name(name)}.lock")
        try:
            return _holder(path) if _is_held(path) else None
        except OSError as error:
            _refuse("look at", path, error)

    def put_aside(self) -> tuple[str, list[str]]:
        """Return the folder of the corrupt documents, and their files, oldest first. Raises StoreError."""
        place = os.path.join(self.folder, "quarantine")
        try:
            return place, sorted(os.listdir(place))
        except (FileNotFoundError, NotADirectoryError):
            return place, []
        except OSError as error:
            _refuse("read", place, error)

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

    def _put(self, path: str, document: Mapping[str, object], *, durable: bool, new: bool = False) -> bool:
        """Put a document in its file; with ``new`` only if there is no file. Returns whether it is there now."""
        data = fastjson.dumps(dict(document)).encode("ascii")
        try:
            for folder in self._folders:
                ensure_once(folder)
            try:
                replace_file(path, data, durable=durable, new=new)
            except FileNotFoundError:
                ensure(self.folder)
                replace_file(path, data, durable=durable, new=new)
        except FileExistsError:
            return False
        except OSError as error:
            if new and error.errno in _NO_LINKS:
                return self._put_without_link(path, document, durable=durable)
            _refuse("write", path, error)
        return True

    def _put_without_link(self, path: str, document: Mapping[str, object], *, durable: bool) -> bool:
        """Put a document in a new file if the file system has no links, which is safe among callers of this."""
        with Lock(self._folders, f"{os.path.basename(path).removesuffix(_SUFFIX)}=.lock", _REPLACE_SECONDS):
            return not os.path.lexists(path) and self._put(path, document, durable=durable)

    def _read(self, path: str) -> dict[str, object] | None:
        content = self._content(path)
        if content is not None and is_cut(os.path.basename(path)):
            content.pop(_NAME, None)
        return content

    def _content(self, path: str) -> dict[str, object] | None:
        """Return what a file holds: the document, and the name if the file's was cut."""
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
            document = fastjson.loads(data)
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
                return self._content(path)
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
        probes = 0
        while not self._try():
            left = deadline - time.monotonic()
            if left > 0:
                time.sleep(min(_LOCK_POLL, left))
            elif probes < _PROBES and not self._is_held():
                # Somebody only looks whether it is held.
                probes += 1
                time.sleep(0.001)
            else:
                raise StoreBusy(_holder(self.path))
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

    def _is_held(self) -> bool:
        try:
            return _is_held(self.path)
        except OSError:
            return True


def _is_held(path: str) -> bool:
    """Say whether a process holds a lock, without taking it. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared: of two processes that look, neither takes the other for a holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _holder(path: str) -> str:
    """Return who holds a lock, as its file says."""
    try:
        with open(path, "rb") as file:
            return file.read(200).decode("ascii", "replace").strip() or "another process"
    except OSError:
        return "another process"


def replace_file(path: str, data: bytes, *, durable: bool, new: bool = False) -> None:
    """Put ``data`` in place of a file (0600) as one step: readers see all of the old or all of the new.

    With ``durable`` file and folder are on the disk before this returns. With ``new`` there must be no file yet: raises
    FileExistsError otherwise. Raises OSError, and leaves the old file and nothing half-written then.
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
                sync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            # A link, unlike a rename, never takes the place of what is there.
            os.link(temporary, path)
            os.unlink(temporary)
        else:
            os.replace(temporary, path)
    except BaseException:
        _unlink(temporary)
        raise
    if durable:
        if _later is None:
            _flush_folder(folder)
        else:
            _later[folder] = None


_later: dict[str, None] | None = None
"""The folders that are flushed at the end of a :class:`durable_together`; None outside of one."""


class durable_together:  # noqa: N801 - used as a function
    """A block in which several documents are saved durably: all of them are on the disk when it ends.

    Each costs the system less than alone. A document's content is on the disk before its file is there; that the file
    is there may be lost with the machine until the block ends. One thread may be in such a block.
    """

    def __enter__(self) -> None:
        """Begin, or go on with the block around this one."""
        global _later
        self._is_outer = _later is None
        if self._is_outer:
            _later = {}

    def __exit__(self, *_error: object) -> None:
        """Flush. Raises StoreError."""
        global _later
        if not self._is_outer or _later is None:
            return
        folders, _later = _later, None
        for folder in reversed(folders):
            try:
                _flush_folder(folder)
            except OSError as error:
                _refuse("write", folder, error)


def _flush_folder(folder: str) -> None:
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor)
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


def _named(path: str, name: str, document: Mapping[str, object]) -> Mapping[str, object]:
    """Return what the file of a document holds."""
    return {**document, _NAME: name} if is_cut(os.path.basename(path)) else document


def _taken_apart(encoded: str, content: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Return name and document of what a file holds."""
    if not is_cut(encoded):
        name = decode_name(encoded)
        return encoded if name is None else name, content
    # Files of earlier releases do not say it, but for those that are named after their session.
    said = content.pop(_NAME, content.get("session"))
    return said if isinstance(said, str) and encode_name(said) == encoded else encoded, content


def _remove_abandoned(path: str) -> None:
    try:
        if time.time() - os.lstat(path).st_mtime > _ABANDONED_AFTER:
            os.unlink(path)
    except OSError:
        return


def _refuse(verb: str, path: str, error: OSError) -> NoReturn:
    remedy = _REMEDIES.get(error.errno or 0)
    raise StoreError(f"cannot {verb} {path}: {error.strerror or error}{'; ' + remedy if remedy else ''}") from error
