"""Leaves messages in the state folder, where ``hookrouter questions`` lists them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hookrouter import notices
from hookrouter.answering import Wake, Woken
from hookrouter.home import Home
from hookrouter.store import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["InboxGateway"]


class InboxGateway:
    """Keeps what is not a question as a notice; a question waits as its own document already."""

    type = "inbox"

    def check(self, settings: Mapping[str, object]) -> list[str]:
        """Return one problem for each key, because this gateway takes none."""
        return [f'{key}: unknown key; a gateway of type "inbox" has no keys of its own' for key in settings]

    def deliver(self, wake: Wake, settings: Mapping[str, object]) -> Woken:  # noqa: ARG002 - the interface
        """Keep the message in the state folder of this process's home."""
        if wake.kind in ("question", "reminder"):
            return Woken(delivered=True, reason="the question waits in the state folder")
        store = Store(Home.from_environ(os.environ).state, _report)
        try:
            notices.save(store, wake)
        except StoreError as error:
            return Woken(delivered=False, reason=str(error))
        return Woken(delivered=True, reason="kept as a notice in the state folder")


def _report(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - the deliverer's stderr is its log
