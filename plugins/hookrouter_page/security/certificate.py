"""The certificate and the key of the page: read, checked, and looked at again when their files change."""

from __future__ import annotations

import os
import stat

from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_error

__all__ = ["KEY", "FileStamps", "TlsError", "check_files"]

_CERTIFICATE, KEY = "[page] certificate", "[page] private_key"


class TlsError(HookrouterError):
    """A certificate or a key that cannot be used; the message names the key of config.toml and the file."""


class FileStamps:
    """Notices when the files of a page's certificate are replaced, such as by a renewal."""

    def __init__(self) -> None:
        """Nothing is looked at yet."""
        self._stamps: tuple[tuple[object, ...], ...] = ()
        self._problem = ""

    def look(self, certificate: str, private_key: str) -> tuple[object, str]:
        """Return what changes with the files, and why they cannot be used, empty if they can.

        They are read anew only when they change.
        """
        stamps = tuple(_stamp(path) for path in (certificate, private_key)) if certificate else ()
        if stamps != self._stamps:
            self._stamps, self._problem = stamps, ""
            try:
                if certificate:
                    check_files(certificate, private_key)
            except TlsError as error:
                self._problem = str(error)
        return stamps, self._problem


def check_files(certificate: str, private_key: str) -> None:
    """See whether a certificate and a key, by the paths of config.toml, can be used together. Raises TlsError."""
    # Megabytes that a router without a certificate does without.
    import ssl

    certificate, key = os.path.expanduser(certificate), os.path.expanduser(private_key)
    for name, path in ((_CERTIFICATE, certificate), (KEY, key)):
        try:
            # Looked at in the router, which must not wait for a pipe's writer.
            with open(path, "rb", opener=lambda where, flags: os.open(where, flags | os.O_NONBLOCK)) as file:
                is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        except OSError as error:
            raise TlsError(f"{name}: {path}: {describe_error(error)}") from None
        if not is_file:
            raise TlsError(f"{name}: {path} is not a file")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(certificate)
    except ssl.SSLError:
        raise TlsError(f"{_CERTIFICATE}: {certificate} holds no certificate in PEM") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except _Encrypted:
        raise TlsError(f"{KEY}: {key} is encrypted; a key without a password is needed") from None
    except ssl.SSLError as error:
        if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
            raise TlsError(f"{KEY}: {key} is not the key of the certificate {certificate}") from None
        raise TlsError(f"{KEY}: {key} holds no key in PEM that can be used ({error.reason})") from None


class _Encrypted(Exception):
    """Somebody would have to type a password."""


def _no_password() -> str:
    raise _Encrypted


def _stamp(path: str) -> tuple[object, ...]:
    """Return what changes whenever a file does: its name, what the name leads to, and its size and time."""
    try:
        status = os.stat(os.path.expanduser(path))
    except OSError as error:
        return path, error.errno
    return path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, status.st_uid
