"""HTTP for gateways: one request with everything about it bounded, and what its answer means for a message.

A request follows no redirect to another origin, sends no credentials of ``~/.netrc``, speaks plain HTTP only if it
was allowed to, and ends within its time as a whole. The proxies of the environment are used, except for this machine.
No message of this module holds a path or query of the URL, a header, or more of an answer than a few hundred
characters. ``requests`` is imported when the first request is sent.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from hookrouter.messaging import trace_context
from hookrouter.messaging.gateway import SendResult
from hookrouter.messaging.secrets import SecretError
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import printable
from hookrouter.util.time_limit import PluginTimeout, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "ALLOW_HTTP",
    "CA_FILE",
    "HttpError",
    "Response",
    "address_secrets",
    "failed",
    "missing",
    "not_sent",
    "origin",
    "redact",
    "retry_after",
    "send",
    "url_faults",
]

ALLOW_HTTP = {"help": "whether plain http may go to another machine", "example": "true"}
CA_FILE = {"help": "a file with the certificates to trust instead of the usual ones", "example": '"~/ca.pem"'}
"""The metadata of the fields ``allow_http: bool`` and ``ca_file: FilePath`` of a settings class."""

ANSWER_BYTES = 64 * 1024
"""How much of an answer's body is read."""

SAID_CHARACTERS = 400
"""How much of it becomes a reason."""

_REDIRECTS = 3
_SECRET_CHARACTERS = 8
_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Response(NamedTuple):
    """What came back."""

    status: int
    """The HTTP status, such as 200."""
    text: str
    """The body's first bytes as text, not yet made safe to show."""
    headers: Mapping[str, str]
    """Names compare without case."""
    url: str = ""
    """The address that answered, after redirects that were followed."""


class HttpError(HookrouterError):
    """No answer came; the message says why, and may be shown."""

    def __init__(self, message: str, *, sent: bool) -> None:
        """``sent``: the other side may have got the request all the same."""
        super().__init__(message)
        self.sent = sent


def url_faults(value: object, key: str = "url", *, allow_http: bool = False) -> list[str]:
    """Return what is wrong with an address: scheme, host, port, credentials in it, or plain HTTP to another machine.

    The fault shows no more of the address than scheme and host, because a path may be a secret.
    """
    allowed = "allowed is http://HOST[:PORT][/PATH] or https://..."
    if not isinstance(value, str):
        return [f"{key}: found {value!r}, {allowed}"]
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
        good = parts.scheme in ("http", "https") and bool(host) and not parts.fragment
    except ValueError:
        return [f"{key}: no address can be made out, {allowed}"]
    if not good or not host or not value.isprintable() or " " in value or "\\" in value:
        return [f"{key}: found an address of the form {parts.scheme or '?'}://{host or '?'}, {allowed}"]
    if "@" in parts.netloc:
        return [f"{key}: found a user name or password in the address; allowed: none, name secrets by _env or _file"]
    if parts.scheme == "http" and not _is_loopback(host) and not allow_http:
        return [f"{key}: found plain http to {host}; allowed: https, http to this machine, or allow_http = true"]
    return []


def missing(read_secrets: Callable[[], object], ca_file: str) -> list[str]:
    """Return what a settings object names and is not there: a secret that cannot be read, or the certificates."""
    try:
        read_secrets()
    except SecretError as error:
        return [str(error)]
    return [f"ca_file: {ca_file} is not a file"] if ca_file and not os.path.isfile(ca_file) else []


def origin(url: str) -> str:
    """Return scheme, host and port of an address, which is all of it that may be shown."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{_port(url)}"


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout: float,
    ca_file: str | None = None,
) -> Response:
    """Send one request and return the answer, whatever its status. The address must have been checked.

    ``timeout`` is in seconds, for all of it. ``ca_file`` holds the certificates to trust instead of the usual ones.
    A 307 or 308 within the same origin is followed, with the same method and body; no other redirect is. Raises
    HttpError.
    """
    deadline = time.monotonic() + timeout
    target = url
    for _ in range(_REDIRECTS + 1):
        remaining = max(0.001, deadline - time.monotonic())
        answer = _send_once(method, target, headers or {}, body, remaining, timeout, ca_file)
        location = answer.headers.get("location")
        if answer.status not in (307, 308) or not location:
            return answer
        following = _absolute(target, location)
        if following is None or origin(following) != origin(url):
            return answer
        target = following
    raise HttpError(f"{origin(url)} redirects without end", sent=False)


def _send_once(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    seconds: float,
    timeout: float,
    ca_file: str | None,
) -> Response:
    from urllib.request import getproxies_environment

    import requests
    import urllib3

    status, received = 0, b""
    found: Mapping[str, str] = {}
    try:
        # The timeout of requests is one of each single wait, which an answer that trickles in never reaches.
        with time_limit(seconds), requests.Session() as session:
            # The environment's settings would put the credentials of ~/.netrc in place of the Authorization header.
            session.trust_env = False
            # It reads where any redirect leads, and fails at one to no address: that is an answer, too.
            session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]  # noqa: ARG005
            # Without proxies of the environment, macOS would be asked for its own, which ends a forked process.
            if getproxies_environment() and not _is_loopback(urlsplit(url).hostname or ""):
                session.proxies.update(requests.utils.get_environ_proxies(url))
            bundle = next((os.environ[name] for name in _BUNDLES if os.environ.get(name)), None)
            with session.request(
                method,
                url,
                data=body,
                headers={"Accept-Encoding": "identity", "User-Agent": "hookrouter", **_trace(), **headers},
                timeout=seconds,
                verify=ca_file or bundle or True,
                allow_redirects=False,
                stream=True,
            ) as response:
                status, found = response.status_code, response.headers
                for chunk in response.iter_content(8192):
                    received += chunk
                    if len(received) >= ANSWER_BYTES:
                        break
    except PluginTimeout:
        if not status:
            raise _late(url, timeout) from None
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        # Not all that requests lets through is an error of its own, and some of it quotes the whole address.
        if not status:
            raise _explained(error, url, timeout) from None
    # A mark of the byte order before it is no part of the text, and no JSON.
    return Response(status, received[:ANSWER_BYTES].decode("utf-8-sig", "replace"), found, url)


def _late(url: str, timeout: float) -> HttpError:
    return HttpError(f"{origin(url)} did not answer within {timeout:g} s, and may have got the message", sent=True)


def _explained(error: Exception, url: str, timeout: float) -> HttpError:
    """Return the error with a text of our own: that of requests holds the path and the query."""
    import requests

    place = origin(url)
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return HttpError(f"no connection to {place} within {timeout:g} s", sent=False)
    if isinstance(error, requests.exceptions.Timeout):
        return _late(url, timeout)
    cause = _system_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return HttpError(f"{place}: its certificate is not trusted: {cause.verify_message}", sent=False)
    if isinstance(cause, ssl.SSLError):
        return HttpError(f"{place}: TLS failed: {cause.reason or 'no reason given'}", sent=False)
    if isinstance(cause, socket.gaierror):
        return HttpError(f"{place}: the name of the host is not known ({cause.strerror})", sent=False)
    if isinstance(cause, ConnectionRefusedError):
        return HttpError(f"nothing listens at {place}", sent=False)
    if cause is not None and isinstance(error, requests.exceptions.ConnectionError):
        return HttpError(f"{place}: {cause.strerror or type(cause).__name__}", sent=True)
    return HttpError(f"{place}: the request failed ({type(error).__name__})", sent=True)


def _system_error(error: BaseException) -> OSError | None:
    """Return the error of the system or of TLS that is behind what requests and urllib3 made of it."""
    import requests

    seen: set[int] = set()
    queue: list[object] = [error]
    while queue:
        one = queue.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, OSError) and not isinstance(one, requests.RequestException):
            return one
        queue += [getattr(one, "reason", None), *one.args, one.__cause__, one.__context__]
    return None


def failed(answer: Response, whom: str, *, hint: str = "", said: str | None = None) -> SendResult:
    """Return what an answer that is no success means for the message.

    Tried again: 408, 409, 425, 429 and what begins with 5, except 501 and 505; after the pause that a Retry-After
    asks for. Given up: everything else, because the same request would get the same answer. ``said`` is what the
    other side means, its whole body by default; ``hint`` is what to do about it.
    """
    status = answer.status
    if 300 <= status < 400 and answer.headers.get("location"):
        target = _absolute(answer.url, answer.headers["location"])
        place = "nowhere" if target is None else origin(target)
        return SendResult(False, f"{whom} redirects to {place} ({status}), which is not followed{_joined(hint)}", False)
    retry = status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505))
    text = " ".join((answer.text if said is None else said).split())[:SAID_CHARACTERS]
    reason = f"{whom} answered {status}{f': {printable(text)}' if text else ''}{_joined(hint)}"
    return SendResult(False, reason, retry, retry_after(answer.headers) if retry else None)


def not_sent(error: HttpError, hint: str = "") -> SendResult:
    """Return what a request without an answer means for the message: it is tried again."""
    return SendResult(delivered=False, reason=f"{error}{_joined(hint)}")


def _joined(hint: str) -> str:
    return f"; {hint}" if hint else ""


def _trace() -> dict[str, str]:
    """Return the header by which a message hands its trace on; none if it does not."""
    return {trace_context.HEADER: trace_context.current()} if trace_context.current() else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, which holds a number or a date; None without a usable one."""
    value = (headers.get("retry-after") or "").strip()
    if value.isascii() and value.isdigit() and len(value) < 10:
        return float(value)
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None


def address_secrets(url: str) -> list[str]:
    """Return what of an address must not be shown, as other sides quote it: all behind the origin, whole and in parts.

    A part of fewer than 8 characters counts as no secret: taking out ``api`` or ``v1`` would spoil every text.
    """
    parts = urlsplit(url)
    behind = parts.path + (f"?{parts.query}" if parts.query else "")
    found = {behind, parts.path, parts.query, *re.split(r"[/?&=;]", behind)}
    if behind not in ("", "/"):
        found.add(url)
    found |= {unquote(text) for text in found}
    return [text for text in found if len(text) >= _SECRET_CHARACTERS]


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return text in which no secret stands any more, whoever put it there."""
    # Longest first: one may be part of another.
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, "***")
    return text


def _absolute(base: str, location: str) -> str | None:
    """Return the address that a Location header means; None for one that is no good."""
    with suppress(ValueError):
        url = urljoin(base, location)
        if not url_faults(url, allow_http=True):
            return url
    return None


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def _is_loopback(host: str) -> bool:
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
