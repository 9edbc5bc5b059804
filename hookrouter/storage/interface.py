"""What every engine that keeps hookrouter's documents must do; files are the engine by default.

A document is a JSON object with a kind and a name. Several processes read and write the documents at the same time, and
any of them may be killed at any moment. Callers use :class:`DocumentStore` alone, whether the documents are a home's
files (:mod:`hookrouter.storage.documents`) or stand in an engine that machines share. An author of an engine
tests it with :class:`hookrouter.testing.contracts.document_storage.DocumentStorageContract`.

An engine is a :class:`StorageEngine`, which a plugin contributes and ``[storage] engine`` chooses. It opens a
:class:`Storage`: all documents of a fleet, of which each machine has its own.
"""

from __future__ import annotations

from hookrouter.util.errors import HookrouterError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager as ContextManager
    from types import TracebackType
    from typing import Any, Protocol
else:
    # Every hook run that keeps a document imports this module; typing takes longer to import than the rest of it.
    Protocol = object

__all__ = [
    "DocumentLock",
    "DocumentStore",
    "DocumentWatch",
    "Everywhere",
    "Storage",
    "StorageEngine",
    "StoreBusy",
    "StoreError",
]


class StoreError(HookrouterError):
    """The engine does not allow what was asked; the message names the document or folder and what to do."""


class StoreBusy(StoreError):
    """Another process holds the lock; the message says which."""

    def __init__(self, holder: str) -> None:
        """``holder`` describes the process that holds it."""
        super().__init__(holder)
        self.holder = holder


class DocumentLock(Protocol):
    """A lock between processes, for one ``with`` block. It ends with its process, however that ends."""

    def __enter__(self) -> DocumentLock:
        """Take the lock. Raises StoreBusy if another process keeps it for too long, and StoreError."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""

    def forget(self) -> None:
        """In a forked child: leave the lock, if it is held, to the parent."""


class DocumentWatch(Protocol):
    """A watch on documents, for one ``with`` block; it counts from the moment that the block is entered."""

    def __enter__(self) -> DocumentWatch:
        """Begin. Raises StoreError if the documents cannot be looked at."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds (0: only look); say whether a watched document was written or deleted.

        That is: since the block was entered, or since the last call that returned True. Several changes may be told as
        one, and a document that was written and deleted again between two calls need not be told. Read the documents
        after entering the block and after each True, and none is missed.
        """

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when :meth:`wait` is worth a call, for ``poll``; -1 for none.

        With -1 call :meth:`wait` from time to time. A readable descriptor does not promise that wait returns True.
        """


class DocumentStore(Protocol):
    """The documents of one home. Every method may raise StoreError.

    ``kind`` is a word of letters, digits and dashes, and no kind may be another one and a dash. ``name`` is any text,
    the empty one and one with slashes included.
    """

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        """Save one document in place of the former one; return where it is, in words for a person (a path, a row).

        A reader sees the old document or the new one. With ``durable`` it survives the machine's end from here on. A
        document that cannot be saved leaves the former one untouched. Raises TypeError or ValueError if it is not JSON.
        """

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        """Return one document; None if there is none. A corrupt one is put aside and reported, and counts as none."""

    def delete(self, kind: str, name: str) -> bool:
        """Remove one document; return whether there was one."""

    def entries(self, kind: str, named: Callable[[str], bool] | None = None) -> list[tuple[str, dict[str, object]]]:
        """Return name and document of all documents of one kind, sorted by name; corrupt ones as :meth:`read` does.

        With ``named``, which is asked of each name, only those of which it says True are read and returned: listing
        many names is cheap, reading as many documents is not. One whose name is too long for the engine may be among
        them in any case.
        """

    def stamps(self, kind: str) -> Mapping[str, object]:
        """Return, by name, what tells one state of each document of a kind from the next; reads no document.

        Two stamps of one name are equal if, and only if, the document was not written in between. Of a name that is too
        long for the engine, what :meth:`entries` could say of it without the document may stand in.
        """

    def create(
        self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True
    ) -> dict[str, object] | None:
        """Save a document if there is none of this name yet: of several processes exactly one succeeds.

        Returns None if it was saved, else the document that was there first, untouched. Raises as :meth:`write` does.
        """

    def replace(
        self,
        kind: str,
        name: str,
        document: Mapping[str, object],
        *,
        unchanged: Mapping[str, object],
        durable: bool = True,
    ) -> bool:
        """Save a document if the one that is there equals ``unchanged``, as it was read; return whether it was saved.

        Of several processes that read the same document exactly one succeeds. That holds between calls of this method
        and :meth:`create`: a kind of document that is replaced so must not be written or deleted without a lock.
        """

    def watch(self, kind: str, name: str | None = None) -> DocumentWatch:
        """Return a watch on one document, or without ``name`` on all documents of a kind. Nothing needs to exist."""

    def lock(self, kind: str, name: str, timeout: float) -> DocumentLock:
        """Return a lock of this kind and name, for one ``with`` block. Locks are not tied to documents.

        Entering waits up to ``timeout`` seconds (0: not at all) and then raises StoreBusy, which names the holder.
        """

    def lock_holder(self, kind: str, name: str) -> str | None:
        """Return who holds a lock, in words for a person; None if nobody does.

        The words stay the same as long as the lock is held, and another holder has others. Takes nothing and writes
        nothing, so it works on documents that may only be read, and disturbs nobody who takes the lock meanwhile.
        """

    def put_aside(self) -> tuple[str, Sequence[str]]:
        """Return where corrupt documents were put aside, in words for a person, and their names, oldest first."""

    def prune(self, seconds: float) -> None:
        """Remove what was put aside longer ago than this, and what is left of locks as old that nobody holds.

        Raises nothing: what cannot be removed stays.
        """


class Everywhere(Protocol):
    """The documents of all machines at once. Each method may raise StoreError."""

    def entries(self, area: str, kind: str) -> Sequence[tuple[str, str, dict[str, object]]]:
        """Return machine, name and document of all documents of a kind, sorted by machine and name.

        Corrupt ones are left out.
        """

    def changed(
        self, area: str, kinds: Collection[str], since: object | None
    ) -> tuple[object, Collection[tuple[str, str]]]:
        """Return where the changes are by now, and machine and kind of what has changed ``since`` then.

        ``since`` is what an earlier call of the same arguments returned first; None asks for the place alone. What has
        changed may be told twice, and is never left out.
        """


class Storage(Protocol):
    """The documents of all machines that share an engine, as one process of one machine sees them.

    Made without a connection; a connection that a parent process has is not used by its forked child.
    """

    def store(self, area: str, report: Callable[[str], None], machine: str | None = None) -> DocumentStore:
        """Return one area of the documents of a machine, None for this one; touches nothing yet.

        ``report`` hears of documents that were corrupt and put aside.
        """

    def together(self) -> ContextManager[None]:
        """Return a block in which this thread's writes through any of its stores are one transaction.

        They are there, durably, when the block ends, or none of them is; locks are no part of it. A block in another
        one is part of that one. Leaving it raises StoreError if it could not be saved.
        """

    def machines(self) -> Sequence[str]:
        """Return the names of the machines that have documents, sorted. Raises StoreError."""

    def everywhere(self) -> Everywhere | None:
        """Return a look at all machines at once; None if the engine has no better way than one after the other."""

    def init(self) -> Sequence[str]:
        """Make what the engine needs, in its newest form; return what was done, in words. Raises StoreError.

        Empty if all is there. What an earlier version of the engine has made is left to :meth:`migrate`.
        """

    def migrate(self, version: int | None = None) -> Sequence[str]:
        """Bring what the engine keeps to a version, None for the newest; return what was done, in words.

        One version back is possible, so that the former release can go on. Raises StoreError, and nothing is changed
        then.
        """

    def check(self) -> Sequence[str]:
        """Return what is wrong with the engine, in words, each with what to do; empty if all is well."""

    def close(self) -> None:
        """Let go of connections. Raises nothing."""


class StorageEngine(Protocol):
    """A kind of engine, which a plugin contributes.

    ``name`` is what ``[storage] engine`` calls it; ``settings`` an attrs class of the keys that ``[storage]`` may have
    besides ``engine`` and ``machine``.
    """

    name: str
    settings: type[Any]

    def open(self, settings: Any, machine: str, state: str) -> Storage:
        """Return the documents; ``settings`` is an object of the class, ``machine`` the name of this one.

        ``state`` is the folder of this home's own files. Makes no connection. Raises StoreError if the settings say
        where something is that is not there.
        """
