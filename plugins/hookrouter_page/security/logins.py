"""Logins: a link that ``hookrouter open`` prints becomes a cookie of one browser, once.

Both are signed with the page's secret, and a new secret ends them all (``hookrouter serve --revoke``); a record of each
login (:mod:`hookrouter_page.security.login_records`) lets one be ended alone. A role is ``full``, or ``view`` for who
may look and do nothing.

A browser sends cookies to every port of a host, so also to whatever server Claude has written at another one. What it
does keep apart is paths: all that needs a login stands under a path of its own, which is made of the secret, and the
cookie is for that path alone. A host name of its own, such as ``abc.localhost``, would do the same for this machine's
browsers, but not those that do not know such names (Safari before macOS 26), and not where people reach the page by the
name of its machine.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from typing import TYPE_CHECKING, NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer

from hookrouter.util.clock import iso, now
from hookrouter.util.clock import seconds as moment
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import printable
from hookrouter_page.security.answer_link import page_secret, page_secret_file
from hookrouter_page.security.login_records import LONGEST_TEXT, LoginRecord, LoginRecords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore
    from hookrouter_page.settings import PageSettings

__all__ = ["COOKIE", "FULL", "LINK_SECONDS", "PATH", "ROLES", "VIEW", "Login", "LoginError", "Logins"]

COOKIE = "hookrouter"
FULL, VIEW = "full", "view"
ROLES = (FULL, VIEW)

LINK_SECONDS = 900
"""For how long a login link holds."""

PATH = "/~"
"""How the path begins under which stands what needs a login."""

_NEW_SECONDS = 60.0
"""For how long a login of another machine need not be known here yet."""

_LONGEST = 1024
_MOST_COOKIES = 10


class LoginError(HookrouterError):
    """A login link that lets nobody in; the message says why."""


class Login(NamedTuple):
    """One browser's login."""

    role: str
    """``full`` or ``view``."""
    id: str
    """That of its record: random, and different for each login."""

    @property
    def may_act(self) -> bool:
        """Whether it may change anything."""
        return self.role == FULL


class Logins:
    """Makes and reads links and cookies of one home."""

    def __init__(self, home: Home, page: PageSettings, store: DocumentStore) -> None:
        """``store`` is the one of ``state/``, for the records. Nothing is read yet."""
        self._home = home
        self._page = page
        self._file = page_secret_file(home, page)
        self._seconds = int(page.login_days * 86400)
        self._stamp: tuple[int, int] | None = None
        self._secret = ""
        self.records = LoginRecords(store)
        """What is kept of each login."""

    @property
    def seconds(self) -> int:
        """For how long a cookie holds."""
        return self._seconds

    @property
    def root(self) -> str:
        """The path under which stands what needs a login, without a slash at the end.

        It is the same for all pages with one secret. Raises OSError if the secret cannot be read or made.
        """
        return PATH + hmac.new(self._read_secret().encode(), b"hookrouter page path", hashlib.sha256).hexdigest()[:32]

    def link_token(self, role: str) -> str:
        """Return the token of a login link. Raises OSError if the secret cannot be read or made."""
        return str(self._signer("login link").dumps({"role": role, "id": secrets.token_hex(8)}))

    def enter(self, token: str, who: str, device: str) -> tuple[Login, str]:
        """Return the login that a link's token gives, once, and its cookie's value.

        ``who`` sits at the browser, which says ``device`` of itself. Raises LoginError, OSError and StoreError.
        """
        read = self._read("login link", token, LINK_SECONDS)
        if read is None:
            raise LoginError("this login link is not valid, or is older than a quarter of an hour")
        login, _ = read
        named, browser = (printable(text)[:LONGEST_TEXT] for text in (who, device))
        at = iso()
        # Not while a link of its time may still hold: that it was used would not be known.
        self.records.forget(max(self._seconds, 2 * LINK_SECONDS))
        if not self.records.begin(LoginRecord(login.id, login.role, named, browser, at, at, secret_mark=self._mark())):
            raise LoginError("this login link was used before: each works once")
        return login, str(self._signer("login").dumps(login._asdict()))

    def login_of(self, headers: Iterable[str]) -> Login | None:
        """Return the login that a request's ``Cookie`` headers bring; None without one. Raises OSError and StoreError.

        Any server of this host may have put a cookie of the same name beside the page's: each is tried, and a browser
        sends the one with the longest path first.
        """
        pairs = (pair.strip().partition("=") for header in headers for pair in header.split(";"))
        values = [value.strip() for name, _, value in pairs if name == COOKIE]
        found = (self.login(value) for value in values[:_MOST_COOKIES])
        return next((login for login in found if login is not None), None)

    def login(self, cookie: str) -> Login | None:
        """Return the login of a cookie; None if it is none, or over. Raises OSError and StoreError."""
        read = self._read("login", cookie, self._seconds)
        if read is None:
            return None
        login, age = read
        record = self.records.find(login.id)
        if record is None:
            # A moment ago at the page of another machine, or while what that one keeps cannot be read.
            is_new = self.records.is_shared and (age < _NEW_SECONDS or self.records.is_cut_off)
            return login if is_new else None
        if record.ended_at:
            return None
        self.records.note_use(record)
        return login

    def holding(self) -> list[LoginRecord]:
        """Return the records of the logins that hold, the one that was used last first. Raises OSError and StoreError.

        Not those of another secret, or of before ``login_days``, whose records nobody has ended.
        """
        known = ("", self._mark())
        return [one for one in self.records.all() if one.secret_mark in known and not self._is_over(one)]

    def _is_over(self, record: LoginRecord) -> bool:
        began = moment(record.at)
        return began is not None and now() - began > self._seconds

    def csrf_token(self, name: str) -> str:
        """Return what a form sends to show that this page made it, for whoever ``name`` stands for. Raises OSError."""
        key = f"csrf\0{self._read_secret()}\0{name}".encode("utf-8", "replace")
        return hashlib.sha256(key).hexdigest()[:32]

    def _read(self, salt: str, text: str, seconds: int) -> tuple[Login, float] | None:
        """Return the login of a signed text, and the text's age in seconds; None if it is none, or too old."""
        if not text.isascii() or len(text) > _LONGEST:
            return None
        try:
            value, signed = self._signer(salt).loads(text, max_age=seconds, return_timestamp=True)
        except BadData:
            return None
        role, name = (value.get("role"), value.get("id")) if isinstance(value, dict) else (None, None)
        if role not in ROLES or not isinstance(name, str):
            return None
        return Login(role, name), now() - signed.timestamp()

    def _mark(self) -> str:
        return hmac.new(self._read_secret().encode(), b"hookrouter page login", hashlib.sha256).hexdigest()[:16]

    def _signer(self, salt: str) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(
            self._read_secret(),
            salt=f"hookrouter page {salt}",
            signer_kwargs={"key_derivation": "hmac", "digest_method": staticmethod(hashlib.sha256)},
        )

    def _read_secret(self) -> str:
        """Return the secret as it is now: another process may have put a new one in its place."""
        try:
            status = os.stat(self._file)
            stamp = (status.st_ino, status.st_mtime_ns)
        except FileNotFoundError:
            stamp = None
        if stamp is None or stamp != self._stamp:
            self._secret = page_secret(self._home, self._page)
            status = os.stat(self._file)
            self._stamp = (status.st_ino, status.st_mtime_ns)
        return self._secret
