"""Right hooks without @override, which a type checker may be told to ask for: only then it knows the misspelt ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl
from hookrouter.hookspecs import EventSpecs

if TYPE_CHECKING:
    from hookrouter.context import Context
    from hookrouter.events import Stop
    from hookrouter.replies import StopReply


class Plugin(EventSpecs):
    @hookimpl
    def stop(  # error: explicit-override, reportImplicitOverride
        self, event: Stop, context: Context
    ) -> StopReply | None:
        return None
