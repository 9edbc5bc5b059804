"""Which gateways a message goes through, and what would have to change for one that has refused it."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING

import attrs

from hookrouter._plugins.index import file_stamp
from hookrouter.config import Agent
from hookrouter.messaging.secrets import secret_stamps
from hookrouter.util import fastjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.config import Config
    from hookrouter.messaging.gateway import Gateway
    from hookrouter.messaging.message import QueuedMessage

__all__ = ["Routes"]


@attrs.define
class Routes:
    """The gateways of messages, by config.toml and the plugins that there are."""

    config: Config
    gateways: Mapping[str, Gateway]
    """By type."""
    _marks: dict[tuple[str, ...], str] = attrs.field(factory=dict, init=False)

    def look_again(self) -> None:
        """Forget the fingerprints: secrets and plugins' files may have changed."""
        self._marks.clear()

    def of(self, message: QueuedMessage) -> list[str]:
        """Return the gateways of a message that have not refused it, in order; all if each has."""
        names, refused = message.gateways, message.refused
        return [name for name in names if name not in refused or refused[name] != self.fingerprint([name])] or names

    def is_given_up(self, message: QueuedMessage) -> bool:
        """Whether a message was given up, and nothing has changed since that could help."""
        return message.given_up is not None and message.given_up.settings == self.fingerprint(message.gateways)

    def has_changed(self, message: QueuedMessage) -> bool:
        """Whether a message waits for a gateway that could not be asked, and something has changed that could help."""
        return bool(message.unusable) and message.unusable != self.fingerprint(message.gateways)

    def fallback_after(self, message: QueuedMessage) -> float:
        """Return the seconds of failing after which the next gateway of the message's agent is asked too."""
        return next((one.fallback_after for one in self.config.agents if one.id == message.agent), Agent.fallback_after)

    def fingerprint(self, names: Sequence[str]) -> str:
        """Return a text that changes with the gateways' tables, their secrets, and the files of their classes."""
        known = self._marks.get(tuple(names))
        if known is not None:
            return known
        pairs: list[object] = []
        for name in names:
            kind, table = self.config.gateway(name) or ("", {})
            file = getattr(sys.modules.get(type(self.gateways.get(kind)).__module__), "__file__", None) or ""
            pairs += [kind, file_stamp(file), *sorted((key, repr(value)) for key, value in table.items())]
            pairs += secret_stamps(table, os.environ)
        mark = hashlib.sha256(fastjson.dumps(pairs).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._marks[tuple(names)] = mark
        return mark
