"""What of a hook's environment belongs to the Claude Code session, and which environment a message needs.

A deliverer keeps the environment of the hook that started it, so the secrets that a gateway's table names by ``*_env``
are those of that session. Sessions with other values (direnv, a token for each project) get a deliverer of their own:
the *mark* of an environment tells them apart.
"""

from __future__ import annotations

import os

from hookrouter.storage.engine import OUTBOX
from hookrouter.storage.home import DocumentKind

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.storage.home import Home

__all__ = [
    "CLAUDE_PREFIX",
    "CLAUDE_SECRETS",
    "CLAUDE_VARIABLES",
    "ERRAND_VARIABLE",
    "environment_mark",
    "is_claudes",
    "named_variables",
]

CLAUDE_SECRETS = frozenset({"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"})
"""Variables that open the running Claude Code session to whoever holds them; no deliverer gets them."""

CLAUDE_VARIABLES = frozenset(
    {
        "CLAUDECODE", "CLAUDE_CODE_BRIDGE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT",
        "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "TMUX_PANE", "TRACEPARENT", "TRACESTATE",
    }
)  # fmt: skip
"""Variables that say which session, pane and trace a hook's process belongs to."""

CLAUDE_PREFIX = "CLAUDE_PLUGIN_"
"""How the variables begin that Claude Code sets for the hooks of one of its own plugins: folders, and its options."""

ERRAND_VARIABLE = "HOOKROUTER_ERRAND"
"""Set for a command that another machine asked for: it reads no files of this one. The value names the variables that
hold for this command alone, and not for what it starts."""

_SALT = DocumentKind("environment", area=OUTBOX), "salt"
_SALT_BYTES = 16


def is_claudes(name: str) -> bool:
    """Whether a variable is the session's own, so that a program which belongs to no session must not have it.

    ``CLAUDE_CODE_OAUTH_TOKEN`` and settings such as ``CLAUDE_CONFIG_DIR`` are the user's: an agent that a program
    starts may need them.
    """
    return name in CLAUDE_SECRETS or name in CLAUDE_VARIABLES or name.startswith(CLAUDE_PREFIX)


def named_variables(tables: Iterable[object]) -> list[str]:
    """Return the names of the environment variables that tables name by ``*_env``, also in tables within them."""
    found: set[str] = set()
    for table in tables:
        if isinstance(table, dict):
            found.update(
                value for key, value in table.items() if isinstance(value, str) and key.lower().endswith("_env")
            )
            found.update(named_variables(table.values()))
    return sorted(found)


def environment_mark(environ: Mapping[str, str], home: Home, gateways: Mapping[str, object]) -> str:
    """Return four hexadecimal digits that tell environments apart by what the gateways' tables name; empty for nothing.

    Two environments with the same values have the same mark. It is kept in documents and file names: it is salted, and
    so short that it tells next to nothing about a secret.
    """
    names = named_variables(gateways.values())
    if not names:
        return ""
    salt = _salt(home)
    if not salt:
        return ""
    from hashlib import sha256

    pairs = "\0".join(f"{name}={environ[name]}" if name in environ else name for name in names)
    return sha256(salt + pairs.encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _salt(home: Home) -> bytes:
    """Return the random bytes of this home, made on first use; empty if they can be neither read nor made."""
    from hookrouter.storage.engine import open_store
    from hookrouter.storage.interface import StoreError

    store = open_store(home, lambda _text: None, OUTBOX)
    fresh = {"version": 1, "salt": os.urandom(_SALT_BYTES).hex()}
    try:
        # The first of several processes wins.
        kept = store.read(*_SALT) or store.create(*_SALT, fresh) or fresh
        return bytes.fromhex(str(kept.get("salt")))
    except (StoreError, ValueError):
        return b""
