"""The other side of the router's control socket: what a command or doctor asks it."""

from __future__ import annotations

from typing import Any

from hookrouter.storage.home import CONTROL
from hookrouter.util import fastjson, unix_socket
from hookrouter.util.errors import HookrouterError

__all__ = ["COMMANDS", "NotServedError", "ask"]

COMMANDS = ("status", "stop", "restart")
"""What a router does when it is told so. It answers each with its status."""

SECONDS = 3.0
"""Seconds to wait for an answer: a router that is well needs milliseconds."""

_CHUNK = 1 << 16
_MAX_ANSWER = 1 << 22


class NotServedError(HookrouterError):
    """No router answers for this home."""

    def __init__(self, text: str, *, is_hung: bool = False) -> None:
        """``is_hung``: there is one, and it says nothing."""
        super().__init__(text)
        self.is_hung = is_hung


def ask(folder: str, command: str = "status") -> dict[str, Any]:
    """Return the status of the router of a home, whose router's folder this is, and have it do one of COMMANDS.

    Raises NotServedError.
    """
    try:
        with unix_socket.connect(folder, CONTROL, SECONDS) as connection:
            connection.sendall(command.encode("ascii") + b"\n")
            data = bytearray()
            while (part := connection.recv(_CHUNK)) and len(data) < _MAX_ANSWER:
                data += part
            status = fastjson.loads(bytes(data))
    except TimeoutError:
        raise NotServedError(f"the router does not answer within {SECONDS:g} s", is_hung=True) from None
    except OSError as error:
        raise NotServedError(f"no router runs for this home ({error.strerror or error})") from None
    except ValueError:
        raise NotServedError("what answers is not a router of this version", is_hung=True) from None
    if not isinstance(status, dict):
        raise NotServedError("what answers is not a router of this version", is_hung=True)
    return status
