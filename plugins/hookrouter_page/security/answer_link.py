"""The link in a message to a person that shows one question, and takes its answer, without a login.

A link is ``<base_url>/link/<token>``, and the token names the question and when it was made. It is signed with the
page's secret (``state/page-secret``, or the file that ``[page] secret_file`` names), so that only this user makes
links, and holds for ``[page] link_hours``. A new secret makes all links of before invalid. Needs itsdangerous, of the
extra ``hookrouter[serve]``, which is imported when a link is made or read: never in a hook.
"""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.storage.secret_file import made_secret, read_secret
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from itsdangerous import URLSafeTimedSerializer

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.home import Home
    from hookrouter_page.settings import PageSettings

__all__ = [
    "LINK_PATH",
    "LinkError",
    "LinkedQuestion",
    "answer_link",
    "is_reachable",
    "page_secret",
    "page_secret_file",
    "page_secret_problem",
    "read_link",
]

LINK_PATH = "/link/"
"""What stands between the page's address and the token."""

_SALT = "hookrouter answer link"
_ONLY_HERE = ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "[::]")  # noqa: S104 - names them, and binds to none
_LONGEST = 4096
_SHORTEST_SECRET = 32
"""Characters of a secret that somebody has chosen: who has a link may try all secrets that are shorter."""


class LinkedQuestion(NamedTuple):
    """The question that a link is for. Whether it is still open is not known by the link."""

    session: str
    """The session's name when the link was made."""
    session_id: str
    """Claude Code's id of the session."""
    tool_use_id: str
    """Claude Code's id of the tool call that asks."""


class LinkError(HookrouterError):
    """A link that shows no question; the message says why, for a person."""

    def __init__(self, message: str, *, expired: bool = False) -> None:
        """``expired``: it was valid once, and its time is over."""
        super().__init__(message)
        self.expired = expired


def page_secret_file(home: Home, page: PageSettings) -> str:
    """Return the path of the file that holds the page's secret: the one that is configured, or one of this home."""
    return os.path.expanduser(page.secret_file) or os.path.join(home.state, "page-secret")


def page_secret(home: Home, page: PageSettings, *, make: bool = True) -> str:
    """Return the page's secret; this home's own is made the first time, unless ``make`` is False: it is empty then.

    Raises OSError if it cannot be read or made, if others may read it, or if it is too short.
    """
    path = page_secret_file(home, page)
    if not page.secret_file:
        return made_secret(path) if make else read_secret(path)
    from hookrouter.messaging.secrets import SecretError
    from hookrouter.messaging.secrets import read_secret as named_secret

    try:
        secret = named_secret(page, "secret", {})
    except SecretError as error:
        raise PermissionError(f"[page] {error}") from None
    if len(secret) < _SHORTEST_SECRET:
        raise PermissionError(
            f"[page] secret_file: what {path} holds is too short; allowed: {_SHORTEST_SECRET} characters or more"
        )
    return secret


def page_secret_problem(home: Home, page: PageSettings) -> str:
    """Return why nobody can log in to the page; empty if nothing is wrong with its secret. Makes none."""
    try:
        page_secret(home, page, make=False)
    except OSError as error:
        return f"{error.filename}: {error.strerror}" if error.strerror else str(error)
    return ""


def is_reachable(page: PageSettings) -> bool:
    """Whether other machines, such as a phone, reach the page by its ``base_url``.

    True if ``url`` says how, or if ``address`` names a host that is not this machine to itself alone.
    """
    return bool(page.url) or page.address.rpartition(":")[0].lower() not in _ONLY_HERE


def answer_link(home: Home, page: PageSettings, question: Dialog) -> str:
    """Return a link to a question, which holds from now for ``link_hours``; empty if there is none to be had.

    There is none if the page is off, if other machines do not reach it, or without itsdangerous. Raises OSError if the
    page's secret cannot be read or made.
    """
    if not page.enabled or not is_reachable(page):
        return ""
    try:
        import itsdangerous  # noqa: F401 - whether it is there
    except ImportError:
        return ""
    signer = _serializer(page_secret(home, page))
    token = signer.dumps([question.session, question.session_id, question.tool_use_id])
    return f"{page.base_url}{LINK_PATH}{_text(token)}"


def read_link(home: Home, page: PageSettings, token: str) -> LinkedQuestion:
    """Return the question of a link's token, the part of the address behind :data:`LINK_PATH`.

    Raises LinkError if the token is none of this page's, or its time is over.
    """
    from itsdangerous import BadData, SignatureExpired

    try:
        secret = page_secret(home, page, make=False)
    except OSError as error:
        raise LinkError(f"links cannot be read now: {error}") from None
    if not secret or len(token) > _LONGEST or not token.isascii():
        raise _not_valid()
    signer = _serializer(secret)
    try:
        found = signer.loads(token, max_age=round(page.link_hours * 3600))
    except SignatureExpired:
        raise LinkError(
            f"this link has expired: it held for {page.link_hours:g} hours; the next reminder has a new one",
            expired=True,
        ) from None
    except BadData:
        raise _not_valid() from None
    # Two signatures may differ in the last letter and be the same bytes.
    value, _, signature = token.rpartition(".")
    if not hmac.compare_digest(_text(signer.make_signer(signer.salt).get_signature(value)), signature):
        raise _not_valid()
    if not isinstance(found, list) or len(found) != len(LinkedQuestion._fields):
        raise _not_valid()
    if not all(isinstance(one, str) for one in found):
        raise _not_valid()
    return LinkedQuestion(*found)


def _not_valid() -> LinkError:
    return LinkError("this link is not valid")


def _serializer(secret: str) -> URLSafeTimedSerializer:
    from hashlib import sha256

    from itsdangerous import URLSafeTimedSerializer

    return URLSafeTimedSerializer(
        secret,
        salt=_SALT,
        # A name may hold half a surrogate pair, which no bytes stand for.
        serializer_kwargs={"ensure_ascii": True},
        signer_kwargs={"key_derivation": "hmac", "digest_method": staticmethod(sha256)},
    )


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("ascii")
