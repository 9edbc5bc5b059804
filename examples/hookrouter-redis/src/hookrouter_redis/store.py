"""One area of a machine's documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError
from hookrouter.util import clock, fastjson
from hookrouter.util.text import printable

from hookrouter_redis.locks import Lock, holder_of
from hookrouter_redis.server import ANY, GONE, Change
from hookrouter_redis.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter_redis.server import Server

__all__ = ["RedisStore"]


class RedisStore:
    """What :class:`hookrouter.storage.interface.DocumentStore` promises. Each write is durable, if the server is."""

    def __init__(self, server: Server, machine: str, area: str, report: Callable[[str], None]) -> None:
        self._server = server
        self._of = (machine, area)
        self._report = report

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        """Save one document in place of the former one."""
        self._server.change(Change(self._place(kind), _bytes(name), _body(document)))
        return f"Redis, {printable(self._words(kind, name))}"

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        """Return one document; None if there is none."""
        found = self._read(kind, name)
        return None if found is None else found[0]

    def delete(self, kind: str, name: str) -> bool:
        """Remove one document; return whether there was one."""
        place, key = self._place(kind), _bytes(name)
        while (found := self._server.one(place, key)) is not None:
            if self._server.change(Change(place, key, GONE, found[1])):
                return True
        return False

    def entries(self, kind: str, named: Callable[[str], bool] | None = None) -> list[tuple[str, dict[str, object]]]:
        """Return name and document of all documents of one kind, or of those that are chosen, sorted by name."""
        place = self._place(kind)
        names = None
        if named is not None:
            names = [name for name in self._server.found("stamp", place) if named(_text(name))]
        found = []
        for name, body in self._server.found("body", place, names).items():
            document = _parsed(body)
            if not isinstance(document, dict):
                # Read once more, to be put aside as it is now.
                document = self.read(kind, _text(name))
            if document is not None:
                found.append((_text(name), document))
        return sorted(found, key=lambda entry: entry[0])

    def stamps(self, kind: str) -> dict[str, object]:
        """Return the stamp of each document of a kind by its name."""
        return {_text(name): stamp for name, stamp in self._server.found("stamp", self._place(kind)).items()}

    def create(
        self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True
    ) -> dict[str, object] | None:
        """Save a document if there is none of this name; return None, or else the document that was there first."""
        place, body = self._place(kind), _body(document)
        while (first := self.read(kind, name)) is None:
            if self._server.change(Change(place, _bytes(name), body, GONE)):
                return None
        return first

    def replace(
        self,
        kind: str,
        name: str,
        document: Mapping[str, object],
        *,
        unchanged: Mapping[str, object],
        durable: bool = True,
    ) -> bool:
        """Save a document if the one that is there equals ``unchanged``; return whether it was saved."""
        place, body = self._place(kind), _body(document)
        while (found := self._read(kind, name)) is not None and found[0] == dict(unchanged):
            if self._server.change(Change(place, _bytes(name), body, found[1])):
                return True
        return False

    def watch(self, kind: str, name: str | None = None) -> Watch:
        """Return a watch on one document, or without ``name`` on all of a kind."""
        return Watch(self._server, self._place(kind), None if name is None else _bytes(name))

    def lock(self, kind: str, name: str, timeout: float) -> Lock:
        """Return a lock of this kind and name, for one ``with`` block."""
        return Lock(self._server, self._lock_key(kind, name), printable(self._words(kind, name)), timeout)

    def lock_holder(self, kind: str, name: str) -> str | None:
        """Return who holds a lock, in words for a person; None if nobody does."""
        return holder_of(self._server, self._lock_key(kind, name))

    def put_aside(self) -> tuple[str, list[str]]:
        """Return the key of what was put aside, and time, kind and name of each, oldest first."""
        found = self._server.found("stamp", self._aside)
        return printable(self._server.key("body", self._aside).decode("utf-8", "replace")), sorted(map(_text, found))

    def prune(self, seconds: float) -> None:
        """Remove what was put aside longer ago than this. Of locks nothing is left when they end."""
        try:
            for name in self._server.found("stamp", self._aside):
                at = clock.seconds(_text(name).partition(" ")[0])
                if at is None or at < clock.now() - seconds:
                    self._server.change(Change(self._aside, name, GONE, ANY))
        except StoreError:
            return

    @property
    def _aside(self) -> bytes:
        """The place of what was put aside, which no kind is called as."""
        return _bytes("\0".join((*self._of, "")))

    def _place(self, kind: str) -> bytes:
        if not kind or not kind.isascii() or not kind.replace("-", "").isalnum():
            raise ValueError(f"{kind!r} is not a kind of document: letters, digits and dashes")
        return _bytes("\0".join((*self._of, kind)))

    def _lock_key(self, kind: str, name: str) -> bytes:
        return self._server.key("lock", self._place(kind) + b"\0" + _bytes(name))

    def _words(self, kind: str, name: str) -> str:
        machine, area = self._of
        return f"machine {machine!r}, area {area!r}, kind {kind!r}, name {name!r}"

    def _read(self, kind: str, name: str) -> tuple[dict[str, object], bytes] | None:
        """Return a document and its stamp; a corrupt one is put aside."""
        place, key = self._place(kind), _bytes(name)
        while (found := self._server.one(place, key)) is not None:
            body, stamp = found
            document = _parsed(body)
            if isinstance(document, dict):
                return document, stamp
            aside = Change(self._aside, _bytes(f"{clock.iso()} {kind}-{printable(name)}"), body)
            if self._server.change(Change(place, key, GONE, stamp), aside):
                self._report(f"{printable(self._words(kind, name))} was corrupt and was put aside in Redis")
                return None
        return None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")


def _body(document: Mapping[str, object]) -> bytes:
    return fastjson.dumps(dict(document)).encode("ascii")


def _parsed(body: bytes) -> object:
    """Return what a body says; None if it is no JSON."""
    try:
        return fastjson.loads(body)
    except ValueError:
        return None
