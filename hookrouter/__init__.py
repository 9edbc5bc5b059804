"""hookrouter routes every Claude Code hook event through pluggy plugins.

The public names are loaded on first use, because ``hookrouter run`` starts on every tool call: importing this
package costs nothing, importing a name costs what that name needs.
"""

TYPE_CHECKING = False

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hookrouter.context import Context as Context
    from hookrouter.converter import PayloadError as PayloadError
    from hookrouter.converter import structure_event as structure_event
    from hookrouter.events import BackgroundTask as BackgroundTask
    from hookrouter.events import ConfigChange as ConfigChange
    from hookrouter.events import CwdChanged as CwdChanged
    from hookrouter.events import DirectoryAdded as DirectoryAdded
    from hookrouter.events import Effort as Effort
    from hookrouter.events import Elicitation as Elicitation
    from hookrouter.events import ElicitationResult as ElicitationResult
    from hookrouter.events import Event as Event
    from hookrouter.events import FileChanged as FileChanged
    from hookrouter.events import InstructionsLoaded as InstructionsLoaded
    from hookrouter.events import McpServer as McpServer
    from hookrouter.events import MessageDisplay as MessageDisplay
    from hookrouter.events import Notification as Notification
    from hookrouter.events import PermissionDenied as PermissionDenied
    from hookrouter.events import PermissionRequest as PermissionRequest
    from hookrouter.events import PostCompact as PostCompact
    from hookrouter.events import PostModelSwitch as PostModelSwitch
    from hookrouter.events import PostToolBatch as PostToolBatch
    from hookrouter.events import PostToolUse as PostToolUse
    from hookrouter.events import PostToolUseFailure as PostToolUseFailure
    from hookrouter.events import PreCompact as PreCompact
    from hookrouter.events import PreModelSwitch as PreModelSwitch
    from hookrouter.events import PreToolUse as PreToolUse
    from hookrouter.events import SessionCron as SessionCron
    from hookrouter.events import SessionEnd as SessionEnd
    from hookrouter.events import SessionStart as SessionStart
    from hookrouter.events import Setup as Setup
    from hookrouter.events import Stop as Stop
    from hookrouter.events import StopFailure as StopFailure
    from hookrouter.events import SubagentStart as SubagentStart
    from hookrouter.events import SubagentStop as SubagentStop
    from hookrouter.events import TaskCompleted as TaskCompleted
    from hookrouter.events import TaskCreated as TaskCreated
    from hookrouter.events import TeammateIdle as TeammateIdle
    from hookrouter.events import ToolCall as ToolCall
    from hookrouter.events import UnknownEvent as UnknownEvent
    from hookrouter.events import UserPromptExpansion as UserPromptExpansion
    from hookrouter.events import UserPromptSubmit as UserPromptSubmit
    from hookrouter.events import WorktreeCreate as WorktreeCreate
    from hookrouter.events import WorktreeRemove as WorktreeRemove
    from hookrouter.hookspecs import AnswerSpecs as AnswerSpecs
    from hookrouter.hookspecs import CommandSpecs as CommandSpecs
    from hookrouter.hookspecs import EventSpecs as EventSpecs
    from hookrouter.hookspecs import PermissionDeniedSpecs as PermissionDeniedSpecs
    from hookrouter.hookspecs import PermissionRequestSpecs as PermissionRequestSpecs
    from hookrouter.hookspecs import PostToolUseFailureSpecs as PostToolUseFailureSpecs
    from hookrouter.hookspecs import PostToolUseSpecs as PostToolUseSpecs
    from hookrouter.hookspecs import PreToolUseSpecs as PreToolUseSpecs
    from hookrouter.hookspecs import SettingsSpecs as SettingsSpecs
    from hookrouter.hookspecs.commands import Command as Command
    from hookrouter.markers import hookimpl as hookimpl
    from hookrouter.markers import override as override
    from hookrouter.markers import waits as waits
    from hookrouter.replies import ConfigChangeReply as ConfigChangeReply
    from hookrouter.replies import CwdChangedReply as CwdChangedReply
    from hookrouter.replies import DirectoryAddedReply as DirectoryAddedReply
    from hookrouter.replies import ElicitationReply as ElicitationReply
    from hookrouter.replies import ElicitationResultReply as ElicitationResultReply
    from hookrouter.replies import FileChangedReply as FileChangedReply
    from hookrouter.replies import MessageDisplayReply as MessageDisplayReply
    from hookrouter.replies import NotificationReply as NotificationReply
    from hookrouter.replies import PermissionDeniedReply as PermissionDeniedReply
    from hookrouter.replies import PermissionRequestReply as PermissionRequestReply
    from hookrouter.replies import PostCompactReply as PostCompactReply
    from hookrouter.replies import PostModelSwitchReply as PostModelSwitchReply
    from hookrouter.replies import PostToolBatchReply as PostToolBatchReply
    from hookrouter.replies import PostToolUseFailureReply as PostToolUseFailureReply
    from hookrouter.replies import PostToolUseReply as PostToolUseReply
    from hookrouter.replies import PreCompactReply as PreCompactReply
    from hookrouter.replies import PreModelSwitchReply as PreModelSwitchReply
    from hookrouter.replies import PreToolUseReply as PreToolUseReply
    from hookrouter.replies import Reply as Reply
    from hookrouter.replies import SessionStartReply as SessionStartReply
    from hookrouter.replies import SetupReply as SetupReply
    from hookrouter.replies import StopReply as StopReply
    from hookrouter.replies import SubagentStartReply as SubagentStartReply
    from hookrouter.replies import SubagentStopReply as SubagentStopReply
    from hookrouter.replies import TaskCompletedReply as TaskCompletedReply
    from hookrouter.replies import TaskCreatedReply as TaskCreatedReply
    from hookrouter.replies import TeammateIdleReply as TeammateIdleReply
    from hookrouter.replies import UserPromptExpansionReply as UserPromptExpansionReply
    from hookrouter.replies import UserPromptSubmitReply as UserPromptSubmitReply
    from hookrouter.replies import WorktreeCreateReply as WorktreeCreateReply
    from hookrouter.replies import WorktreeRemoveReply as WorktreeRemoveReply
    from hookrouter.tools import Annotation as Annotation
    from hookrouter.tools import AskUserQuestionInput as AskUserQuestionInput
    from hookrouter.tools import AskUserQuestionOutput as AskUserQuestionOutput
    from hookrouter.tools import Option as Option
    from hookrouter.tools import Question as Question

_HOMES = {
    "Context": "hookrouter.context",
    "hookimpl": "hookrouter.markers",
    "override": "hookrouter.markers",
    "waits": "hookrouter.markers",
    "ConfigChangeReply": "hookrouter.replies",
    "CwdChangedReply": "hookrouter.replies",
    "DirectoryAddedReply": "hookrouter.replies",
    "ElicitationReply": "hookrouter.replies",
    "ElicitationResultReply": "hookrouter.replies",
    "FileChangedReply": "hookrouter.replies",
    "MessageDisplayReply": "hookrouter.replies",
    "NotificationReply": "hookrouter.replies",
    "PermissionDeniedReply": "hookrouter.replies",
    "PermissionRequestReply": "hookrouter.replies",
    "PostCompactReply": "hookrouter.replies",
    "PostModelSwitchReply": "hookrouter.replies",
    "PostToolBatchReply": "hookrouter.replies",
    "PostToolUseFailureReply": "hookrouter.replies",
    "PostToolUseReply": "hookrouter.replies",
    "PreCompactReply": "hookrouter.replies",
    "PreModelSwitchReply": "hookrouter.replies",
    "PreToolUseReply": "hookrouter.replies",
    "Reply": "hookrouter.replies",
    "SessionStartReply": "hookrouter.replies",
    "SetupReply": "hookrouter.replies",
    "StopReply": "hookrouter.replies",
    "SubagentStartReply": "hookrouter.replies",
    "SubagentStopReply": "hookrouter.replies",
    "TaskCompletedReply": "hookrouter.replies",
    "TaskCreatedReply": "hookrouter.replies",
    "TeammateIdleReply": "hookrouter.replies",
    "UserPromptExpansionReply": "hookrouter.replies",
    "UserPromptSubmitReply": "hookrouter.replies",
    "WorktreeCreateReply": "hookrouter.replies",
    "WorktreeRemoveReply": "hookrouter.replies",
    "Effort": "hookrouter.events",
    "McpServer": "hookrouter.events",
    "ToolCall": "hookrouter.events",
    "BackgroundTask": "hookrouter.events",
    "SessionCron": "hookrouter.events",
    "Event": "hookrouter.events",
    "UnknownEvent": "hookrouter.events",
    "SessionStart": "hookrouter.events",
    "Setup": "hookrouter.events",
    "UserPromptSubmit": "hookrouter.events",
    "UserPromptExpansion": "hookrouter.events",
    "PreToolUse": "hookrouter.events",
    "PermissionRequest": "hookrouter.events",
    "PermissionDenied": "hookrouter.events",
    "PostToolUse": "hookrouter.events",
    "PostToolUseFailure": "hookrouter.events",
    "PostToolBatch": "hookrouter.events",
    "Notification": "hookrouter.events",
    "MessageDisplay": "hookrouter.events",
    "SubagentStart": "hookrouter.events",
    "SubagentStop": "hookrouter.events",
    "TaskCreated": "hookrouter.events",
    "TaskCompleted": "hookrouter.events",
    "Stop": "hookrouter.events",
    "StopFailure": "hookrouter.events",
    "TeammateIdle": "hookrouter.events",
    "InstructionsLoaded": "hookrouter.events",
    "ConfigChange": "hookrouter.events",
    "CwdChanged": "hookrouter.events",
    "DirectoryAdded": "hookrouter.events",
    "FileChanged": "hookrouter.events",
    "WorktreeCreate": "hookrouter.events",
    "WorktreeRemove": "hookrouter.events",
    "PreCompact": "hookrouter.events",
    "PostCompact": "hookrouter.events",
    "PreModelSwitch": "hookrouter.events",
    "PostModelSwitch": "hookrouter.events",
    "Elicitation": "hookrouter.events",
    "ElicitationResult": "hookrouter.events",
    "SessionEnd": "hookrouter.events",
    "Option": "hookrouter.tools",
    "Question": "hookrouter.tools",
    "Annotation": "hookrouter.tools",
    "AskUserQuestionInput": "hookrouter.tools",
    "AskUserQuestionOutput": "hookrouter.tools",
    "AnswerSpecs": "hookrouter.hookspecs",
    "CommandSpecs": "hookrouter.hookspecs",
    "EventSpecs": "hookrouter.hookspecs",
    "PermissionDeniedSpecs": "hookrouter.hookspecs",
    "PermissionRequestSpecs": "hookrouter.hookspecs",
    "PostToolUseFailureSpecs": "hookrouter.hookspecs",
    "PostToolUseSpecs": "hookrouter.hookspecs",
    "PreToolUseSpecs": "hookrouter.hookspecs",
    "SettingsSpecs": "hookrouter.hookspecs",
    "Command": "hookrouter.hookspecs.commands",
    "PayloadError": "hookrouter.converter",
    "structure_event": "hookrouter.converter",
}

__all__ = [
    "Annotation",
    "AnswerSpecs",
    "AskUserQuestionInput",
    "AskUserQuestionOutput",
    "BackgroundTask",
    "Command",
    "CommandSpecs",
    "ConfigChange",
    "ConfigChangeReply",
    "Context",
    "CwdChanged",
    "CwdChangedReply",
    "DirectoryAdded",
    "DirectoryAddedReply",
    "Effort",
    "Elicitation",
    "ElicitationReply",
    "ElicitationResult",
    "ElicitationResultReply",
    "Event",
    "EventSpecs",
    "FileChanged",
    "FileChangedReply",
    "InstructionsLoaded",
    "McpServer",
    "MessageDisplay",
    "MessageDisplayReply",
    "Notification",
    "NotificationReply",
    "Option",
    "PayloadError",
    "PermissionDenied",
    "PermissionDeniedReply",
    "PermissionDeniedSpecs",
    "PermissionRequest",
    "PermissionRequestReply",
    "PermissionRequestSpecs",
    "PostCompact",
    "PostCompactReply",
    "PostModelSwitch",
    "PostModelSwitchReply",
    "PostToolBatch",
    "PostToolBatchReply",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolUseFailureReply",
    "PostToolUseFailureSpecs",
    "PostToolUseReply",
    "PostToolUseSpecs",
    "PreCompact",
    "PreCompactReply",
    "PreModelSwitch",
    "PreModelSwitchReply",
    "PreToolUse",
    "PreToolUseReply",
    "PreToolUseSpecs",
    "Question",
    "Reply",
    "SessionCron",
    "SessionEnd",
    "SessionStart",
    "SessionStartReply",
    "SettingsSpecs",
    "Setup",
    "SetupReply",
    "Stop",
    "StopFailure",
    "StopReply",
    "SubagentStart",
    "SubagentStartReply",
    "SubagentStop",
    "SubagentStopReply",
    "TaskCompleted",
    "TaskCompletedReply",
    "TaskCreated",
    "TaskCreatedReply",
    "TeammateIdle",
    "TeammateIdleReply",
    "ToolCall",
    "UnknownEvent",
    "UserPromptExpansion",
    "UserPromptExpansionReply",
    "UserPromptSubmit",
    "UserPromptSubmitReply",
    "WorktreeCreate",
    "WorktreeCreateReply",
    "WorktreeRemove",
    "WorktreeRemoveReply",
    "__version__",
    "hookimpl",
    "override",
    "structure_event",
    "waits",
]


def __getattr__(name: str) -> object:
    try:
        module = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    from importlib import import_module

    return getattr(import_module(module), name)
