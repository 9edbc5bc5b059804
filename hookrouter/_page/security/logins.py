"""Logins: a link that ``hookrouter open`` prints becomes a cookie of one browser.

Both are signed with the page's secret, and a new secret ends them all (``hookrouter serve --revoke``). A role is
``full``, or ``view`` for who may look and do nothing.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import TYPE_CHECKING, NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer

from hookrouter.dialogs.messages.answer_link import page_secret, page_secret_file
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from hookrouter.config import PageConfig
    from hookrouter.storage.home import Home

__all__ = ["COOKIE", "FULL", "LINK_SECONDS", "ROLES", "VIEW", "Login", "LoginError", "Logins"]

COOKIE = "hookrouter"
FULL, VIEW = "full", "view"
ROLES = (FULL, VIEW)

LINK_SECONDS = 900
"""For how long a login link holds."""

_LONGEST = 1024


class LoginError(HookrouterError):
    """A login link that lets nobody in; the message says why."""


class Login(NamedTuple):
    """One browser's login."""

    role: str
    """``full`` or ``view``."""
    id: str
    """Random, and different for each login."""

    @property
    def may_act(self) -> bool:
        """Whether it may change anything."""
        return self.role == FULL


class Logins:
    """Makes and reads links and cookies of one home."""

    def __init__(self, home: Home, page: PageConfig) -> None:
        """Nothing is read yet."""
        self._home = home
        self._page = page
        self._file = page_secret_file(home, page)
        self._seconds = int(page.login_days * 86400)
        self._stamp: tuple[int, int] | None = None
        self._secret = ""

    @property
    def seconds(self) -> int:
        """For how long a cookie holds."""
        return self._seconds

    def link_token(self, role: str) -> str:
        """Return the token of a login link. Raises OSError if the secret cannot be read or made."""
        return str(self._signer("login link").dumps({"role": role, "id": secrets.token_urlsafe(9)}))

    def cookie(self, token: str) -> tuple[Login, str]:
        """Return the login that a link's token gives, and its cookie's value. Raises LoginError and OSError."""
        found = self._read("login link", token, LINK_SECONDS)
        if found is None:
            raise LoginError("this login link is not valid, or is older than a quarter of an hour")
        login = Login(found.role, secrets.token_urlsafe(12))
        return login, str(self._signer("login").dumps(login._asdict()))

    def login(self, cookie: str) -> Login | None:
        """Return the login of a cookie; None if it is none, or over. Raises OSError."""
        return self._read("login", cookie, self._seconds)

    def csrf_token(self, name: str) -> str:
        """Return what a form sends to show that this page made it, for whoever ``name`` stands for. Raises OSError."""
        key = f"csrf\0{self._read_secret()}\0{name}".encode("utf-8", "replace")
        return hashlib.sha256(key).hexdigest()[:32]

    def _read(self, salt: str, text: str, seconds: int) -> Login | None:
        if not text.isascii() or len(text) > _LONGEST:
            return None
        try:
            value = self._signer(salt).loads(text, max_age=seconds)
        except BadData:
            return None
        role, name = (value.get("role"), value.get("id")) if isinstance(value, dict) else (None, None)
        return Login(role, name) if role in ROLES and isinstance(name, str) else None

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
