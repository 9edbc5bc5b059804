"""Watches on documents, by way of this machine's markers."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError
from hookrouter.util.folder_watch import FolderWatch
from hookrouter_postgresql import names
from hookrouter_postgresql.markers import Watched

if TYPE_CHECKING:
    from types import TracebackType

    from hookrouter_postgresql.access import Access
    from hookrouter_postgresql.markers import Marker

__all__ = ["Watch"]

_LOOK = 2.0
"""Seconds between two looks at the marker if the system tells of its changes."""
_POLL = 0.05
"""Seconds between two looks if it does not."""

_VERSIONS = "SELECT digest, version FROM {schema}.document WHERE machine = %s AND area = %s AND kind = %s"
_VERSION = f"{_VERSIONS} AND digest = %s"


class Watch:
    """A watch for one ``with`` block: :class:`hookrouter.storage.interface.DocumentWatch`."""

    def __init__(self, access: Access, place: tuple[str, str, str], digest: bytes | None) -> None:
        """``place`` is machine, area and kind; ``digest`` that of a name, None for all of the kind."""
        self._access = access
        self._place = place
        self._digest = digest
        self._seen: dict[str, int] = {}
        self._marker: Marker | None = None
        self._folder: FolderWatch | None = None
        self._listening_pid = -1

    def __enter__(self) -> Watch:
        """Begin. Raises StoreError if the documents cannot be looked at."""
        whole = names.kind_id(*self._place)
        one = whole if self._digest is None else names.document_id(whole, self._digest)
        try:
            self._marker = self._access.markers.open(one, Watched(*self._place, self._digest))
            try:
                self._folder = FolderWatch(self._marker.folder).__enter__()
            except OSError as error:
                raise StoreError(f"cannot watch {self._marker.folder}: {error.strerror or error}") from error
            # What is told and no newer than this was written before.
            values = self._place if self._digest is None else (*self._place, self._digest)
            rows = self._access.run(_VERSIONS if self._digest is None else _VERSION, values)
            self._seen = {names.document_id(whole, digest): version for digest, version in rows}
            self._access.listening.begin()
            self._listening_pid = os.getpid()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        pid, self._listening_pid = self._listening_pid, -1
        # Not in a forked child that leaves its parent's block.
        if pid == os.getpid():
            self._access.listening.end()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.__exit__(kind, error, trace)
        marker, self._marker = self._marker, None
        if marker is not None:
            marker.close()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for a change; say whether there was one. Raises StoreError."""
        deadline = time.monotonic() + timeout
        while True:
            self._hear(0)
            if self._has_news():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._hear(left)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when :meth:`wait` is worth a call, or -1."""
        return -1 if self._folder is None else self._folder.fileno()

    def _hear(self, seconds: float) -> None:
        """Wait until the system tells of something, or it is time to look."""
        if self._folder is not None and self._folder.fileno() >= 0:
            self._folder.wait(min(seconds, _LOOK))
        else:
            time.sleep(min(seconds, _POLL))

    def _has_news(self) -> bool:
        if self._marker is None:
            return False
        try:
            news = self._marker.news()
        except OSError as error:
            raise StoreError(f"cannot watch {self._marker.folder}: {error.strerror or error}") from error
        is_new = False
        # All of them: each is noted as told.
        for document, version in news:
            if version > self._seen.get(document, 0):
                self._seen[document] = version
                is_new = True
        return is_new
