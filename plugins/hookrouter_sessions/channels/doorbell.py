"""The prompt channel ``doorbell``: a plain prompt goes in as an event that wakes Claude, without a key or a terminal.

Each session is given a file to watch when it begins, its bell. The channel offers the item and writes the file; Claude
Code starts the hook below, which takes the offer and ends with exit code 2 and the prompt: with ``asyncRewake`` that
begins a turn in an idle session (2.1.150 to 2.1.330). What a person has typed stays in the box. But Claude is told the
text as an automated event and not as a person's words, and nothing but plain prompts is carried out.

The plugin ``doorbell-prompts``. What it needs is imported when it is called.
"""

from __future__ import annotations

from hookrouter.markers import hookimpl, matching, stateless, wakes

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.queue.channels import PromptChannel
    from hookrouter.replies import FileChangedReply, SessionStartReply

__all__: list[str] = []


@hookimpl
@stateless
def session_start(event: events.SessionStart, context: Context) -> SessionStartReply | None:
    """Give the session its bell: for every source, because Claude Code forgets the paths of before."""
    from hookrouter_sessions.channels.waking import began

    return began(event, context)


@hookimpl
@stateless
@wakes
@matching("hookrouter-bell")
def file_changed(event: events.FileChanged, context: Context) -> FileChangedReply | None:
    """Wake Claude with what is on offer for its session."""
    from hookrouter_sessions.channels.waking import rung

    return rung(event, context)


@hookimpl
@stateless
def prompt_channel() -> PromptChannel:
    """Contribute the channel."""
    from hookrouter_sessions.channels.ringing import DoorbellChannel

    return DoorbellChannel()
