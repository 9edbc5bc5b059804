"""What is kept of each login: that its link was used, whose it is, and whether it was ended.

A record is the document ``login`` of the login's id, made when its link is used: so a link that has one is used. Pages
that are one to those who use them share an engine, and each reads the records of the others there. Whoever ends a login
of another machine writes a record of their own: it is over if any machine says so.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.storage.home import DocumentKind
from hookrouter.util.clock import iso, now, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.storage.interface import DocumentStore

__all__ = ["KIND", "LoginRecord", "LoginRecords"]

KIND = DocumentKind("login", shared=True)
VERSION = 1
_OPTIONAL = {"secret_mark": ""}
"""What records of before do not have."""

SEEN_SECONDS = 600.0
"""Seconds after which it is noted again that a login is used."""

ELSEWHERE_SECONDS = 2.0
"""Seconds between two looks at the records of other machines."""

LONGEST_TEXT = 200
"""Characters of a name and of what a browser says of itself that are kept."""


class LoginRecord(NamedTuple):
    """One login of one browser."""

    id: str
    """What it is called: letters and digits."""
    role: str
    """``full`` or ``view``."""
    who: str
    """Whose it is, as the page knew it: the user of the machine, or whom the proxy named."""
    device: str
    """What the browser said of itself: a text of whomever."""
    at: str
    """When its link was used (ISO 8601, UTC)."""
    seen_at: str
    """When it was used last, to some minutes."""
    ended_at: str = ""
    """When it was ended; empty while it holds."""
    secret_mark: str = ""
    """What tells the page's secret that signed it from another one; empty in a record of before."""


class LoginRecords:
    """The records of this home, and of the machines whose pages are one with its page. Methods may raise StoreError."""

    def __init__(self, store: DocumentStore) -> None:
        """``store`` is the one of ``state/``."""
        self._store = store
        self._elsewhere: dict[str, LoginRecord] = {}
        self._looked_at = float("-inf")
        self.is_shared = False
        """Whether other machines may have made logins that are not known here yet."""
        self.is_cut_off = False
        """Whether what they keep cannot be read now."""

    def begin(self, record: LoginRecord) -> bool:
        """Keep a new one; return whether its link was unused."""
        if record.id in self._elsewhere:
            return False
        return self._store.create(KIND, record.id, _document(record)) is None

    def find(self, name: str) -> LoginRecord | None:
        """Return one; None if it is not known here."""
        return _merged([_record(name, self._store.read(KIND, name)), self._elsewhere.get(name)])

    def all(self) -> list[LoginRecord]:
        """Return all that nobody has ended, the one that was used last first."""
        here = {name: _record(name, document) for name, document in self._store.entries(KIND)}
        merged = [_merged([here.get(name), self._elsewhere.get(name)]) for name in {*here, *self._elsewhere}]
        found = [one for one in merged if one is not None and not one.ended_at]
        return sorted(found, key=lambda one: (one.seen_at, one.id), reverse=True)

    def end(self, name: str) -> bool:
        """End one; return whether it held."""
        record = self.find(name)
        if record is None or record.ended_at:
            return False
        self._store.write(KIND, name, _document(record._replace(ended_at=iso())))
        return True

    def note_use(self, record: LoginRecord) -> None:
        """Note that one of this home is used now, if that was not noted some minutes ago."""
        last = seconds(record.seen_at)
        if record.id in self._elsewhere or (last is not None and now() - last < SEEN_SECONDS):
            return
        document = _document(record)
        self._store.replace(KIND, record.id, {**document, "seen_at": iso()}, unchanged=document)

    def forget(self, older: float) -> None:
        """Remove those of this home whose link was used more than ``older`` seconds ago: their cookies are over."""
        for name, document in self._store.entries(KIND):
            record = _record(name, document)
            began = None if record is None else seconds(record.at)
            if began is None or now() - began > older:
                self._store.delete(KIND, name)

    @property
    def is_due(self) -> bool:
        """Whether the other machines are to be looked at again."""
        return time.monotonic() - self._looked_at >= ELSEWHERE_SECONDS

    def put_elsewhere(self, found: Iterable[tuple[str, Mapping[str, object]]] | None) -> None:
        """Take in name and document of all records of other machines; None if they cannot be read now.

        What was known of them stays known then.
        """
        self._looked_at = time.monotonic()
        self.is_cut_off = found is None
        elsewhere: dict[str, LoginRecord] = {}
        for name, document in found or ():
            merged = _merged([elsewhere.get(name), _record(name, document)])
            if merged is not None:
                elsewhere[name] = merged
        if found is not None:
            self._elsewhere = elsewhere


def _merged(records: Iterable[LoginRecord | None]) -> LoginRecord | None:
    """Return what several machines say of one login; None if none says anything."""
    there = [one for one in records if one is not None]
    if not there:
        return None
    return there[0]._replace(seen_at=max(one.seen_at for one in there), ended_at=max(one.ended_at for one in there))


def _document(record: LoginRecord) -> dict[str, object]:
    fields = record._asdict()
    return {"version": VERSION, **{name: value for name, value in fields.items() if name != "id"}}


def _record(name: str, document: Mapping[str, object] | None) -> LoginRecord | None:
    """Read a document; one that is none of ours stands for a login that was ended, so that it lets nobody in."""
    if document is None:
        return None
    texts = {field: document.get(field, _OPTIONAL.get(field)) for field in LoginRecord._fields if field != "id"}
    if document.get("version") != VERSION or not all(isinstance(text, str) for text in texts.values()):
        return LoginRecord(name, "", "", "", "", "", "unreadable")
    return LoginRecord(name, **{field: str(text) for field, text in texts.items()})
