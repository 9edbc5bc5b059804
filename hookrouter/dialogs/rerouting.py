"""Questions asked while config.toml had problems, brought to the agents that the corrected file names.

Until a file is corrected, the agents of the last one without problems hold, and without such a file the inbox. What
was asked meanwhile may have gone to the wrong one, or to nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents
from hookrouter.dialogs.messages.outgoing import wake
from hookrouter.messaging.pauses import is_paused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog

__all__ = ["reroute"]


def reroute(services: Services, questions: Sequence[Dialog]) -> list[Dialog]:
    """Wake the right agents of open questions that were asked while config.toml had problems, each once.

    Returns the questions that have got another agent or other gateways; none while the file still has problems. One
    that had no agent, and gets none, is forgotten: its session is not managed. One that had an agent, whose session the
    corrected file leaves to nobody, stays as it is. Raises StoreError.
    """
    if services.config.problems:
        return []
    return [moved for one in questions if one.provisional and (moved := _reroute(services, one)) is not None]


def _reroute(services: Services, question: Dialog) -> Dialog | None:
    agent = services.config.agent_for(question.session, question.cwd)
    if agent is None and not question.agent:
        documents.delete_question(services.store, question.session, question.tool_use_id)
        return None
    settled = question._replace(provisional=False)
    if agent is not None:
        settled = settled._replace(agent=agent.id, gateway=agent.gateway, fallbacks=agent.fallbacks)
    if settled == question._replace(provisional=False):
        documents.settle(services.store, settled, lambda _: None)
        return None
    settled = settled._replace(missed=is_paused(services.store, question.session) is not None)
    return settled if documents.settle(services.store, settled, lambda one: _wake(services, one)) else None


def _wake(services: Services, question: Dialog) -> None:
    if question.missed:
        return
    # A former agent is not reminded of what is not its own.
    for message in services.outbox.pending():
        if (message.session_id, message.tool_use_id) == (question.session_id, question.tool_use_id):
            services.outbox.remove(message.id)
    wake(question, services)
