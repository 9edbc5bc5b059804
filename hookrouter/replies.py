"""What a plugin may answer to an event: one class per event, made only by named constructors.

A constructor exists for each thing that Claude Code honours for that event, and no combination can be spelled that it
would refuse or silently drop. Every argument is checked when the reply is made. What becomes of the replies of several
plugins is the business of :mod:`hookrouter._routing.merge`. What each event honours was measured on Claude Code
2.1.330.
"""

from __future__ import annotations

from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn, Self

__all__ = [
    "REPLIES",
    "WAKE",
    "ConfigChangeReply",
    "CwdChangedReply",
    "DirectoryAddedReply",
    "ElicitationReply",
    "ElicitationResultReply",
    "FileChangedReply",
    "MessageDisplayReply",
    "NotificationReply",
    "PermissionDeniedReply",
    "PermissionRequestReply",
    "PostCompactReply",
    "PostModelSwitchReply",
    "PostToolBatchReply",
    "PostToolUseFailureReply",
    "PostToolUseReply",
    "PreCompactReply",
    "PreModelSwitchReply",
    "PreSkillShellCommandReply",
    "PreToolUseReply",
    "Reply",
    "SessionStartReply",
    "SetupReply",
    "StopReply",
    "SubagentStartReply",
    "SubagentStopReply",
    "TaskCompletedReply",
    "TaskCreatedReply",
    "TeammateIdleReply",
    "UserPromptExpansionReply",
    "UserPromptSubmitReply",
    "WorktreeCreateReply",
    "WorktreeRemoveReply",
    "closed",
    "expected_reply",
    "message",
]

MAX_TERMINAL_SEQUENCE = 4096
"""Bytes of the terminal sequence that Claude Code passes on."""

WAKE = "wake"
"""The verdict of a reply that begins a turn of Claude's."""

MAX_CLASSIFIER_CONTEXT = 2000
"""UTF-16 units of classifier context that all hooks share."""

_OSC_COMMANDS = frozenset({"0", "1", "2", "9", "99", "777"})
_MAX_DEPTH = 100


class Reply(Value):
    """A reply of the fields that events share; the base of all replies.

    Equal if all that it says is equal.
    """

    __slots__ = ("is_exact", "output", "reason", "stop_reason", "system_message", "terminal_sequence", "verdict")

    verdict: str | None
    """``allow``, ``deny``, ``ask``, ``defer``, ``block``, ``accept``, ``decline``, ``cancel``, ``wake`` or None."""
    reason: str | None
    """Why; for the one that Claude Code shows it to."""
    is_exact: bool
    """Whether the reason is passed on as it is, and not after the name of the plugin."""
    output: dict[str, object]
    """What else it says, by the wire names of Claude Code. Do not change it."""
    system_message: str | None
    """Shown to the user."""
    stop_reason: str | None
    """Ends Claude's turn, and says why."""
    terminal_sequence: str | None
    """Written to the user's terminal."""

    def __init__(self, *_arguments: object, **_more: object) -> None:
        """Refuse: a reply is made by a named constructor."""
        raise TypeError(f"a {type(self).__name__} is made by one of its constructors: {', '.join(_constructors(self))}")

    @classmethod
    def _make(
        cls,
        verdict: str | None = None,
        reason: str | None = None,
        output: Mapping[str, object] | None = None,
        *,
        system_message: str | None = None,
        stop_reason: str | None = None,
        terminal_sequence: str | None = None,
        is_exact: bool = False,
    ) -> Self:
        reply = object.__new__(cls)
        reply._set(
            is_exact=is_exact,
            verdict=verdict,
            reason=reason,
            output={name: value for name, value in (output or {}).items() if value is not None},
            system_message=_optional_text("system_message", system_message),
            stop_reason=stop_reason,
            terminal_sequence=terminal_sequence,
        )
        return reply

    def _deciding(self, verdict: str | None, reason: str | None, output: Mapping[str, object]) -> Self:
        """Return the same with another verdict, reason and output."""
        fields: dict[str, Any] = {**dict(self._items()), "verdict": verdict, "reason": reason, "output": output}
        return self._make(**fields)

    @classmethod
    def message(cls, system_message: str) -> Self:
        """Show the user a message, and decide nothing."""
        return cls._make(system_message=_text("system_message", system_message))

    @classmethod
    def halt(cls, stop_reason: str, *, system_message: str | None = None) -> Self:
        """End Claude's turn after this hook (``continue: false``); ``stop_reason`` is shown to the user."""
        return cls._make(stop_reason=_text("stop_reason", stop_reason), system_message=system_message)

    @classmethod
    def terminal(cls, sequence: str) -> Self:
        """Write an escape sequence to the user's terminal, such as a title or a notification; interactive only.

        Allowed are BEL and the OSC commands 0, 1, 2, 9, 99 and 777, each ended by BEL, up to 4096 bytes.
        """
        return cls._make(terminal_sequence=_terminal_sequence(sequence))

    def __repr__(self) -> str:
        """Show what it says."""
        said = ", ".join(f"{name}={value!r}" for name, value in self._items() if value not in (None, False, {}))
        return f"<{type(self).__name__} {said}>"


class _Discarded:
    """Takes a constructor of the base class away if Claude Code discards what it would say."""

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__} has no such constructor: Claude Code discards it on this event")


class _NoHalt(Reply):
    """The base for events that discard ``continue``."""

    __slots__ = ()

    halt = _Discarded()


class _Quiet(_NoHalt):
    """The base for events that discard ``continue`` and ``systemMessage``."""

    __slots__ = ()

    message = _Discarded()


class _Plain(_Quiet):
    """The base for events whose stdout is read as plain text, so that it cannot carry JSON."""

    __slots__ = ()

    terminal = _Discarded()


class _Context(Reply):
    """The base for events that take additional context."""

    __slots__ = ()

    @classmethod
    def context(cls, text: str, *, system_message: str | None = None) -> Self:
        """Tell Claude ``text``, and decide nothing. More than 10,000 characters reach Claude as a file's preview."""
        return cls._make(output={"additionalContext": _text("text", text)}, system_message=system_message)


class _BlockOrContext(_Context):
    """The base for events that take a block and additional context."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, context: str | None = None, system_message: str | None = None) -> Self:
        """Block, and say why; ``context`` is told to Claude beside it."""
        return cls._make(
            "block",
            _text("reason", reason),
            {"additionalContext": _optional_text("context", context)},
            system_message=system_message,
        )


class PreToolUseReply(_Context):
    """Returned by ``pre_tool_use`` hooks: whether a tool call proceeds, and with which input.

    Of several plugins' decisions deny beats defer beats ask beats allow.
    """

    __slots__ = ()

    @classmethod
    def allow(
        cls,
        reason: str | None = None,
        *,
        updated_input: Mapping[str, object] | None = None,
        context: str | None = None,
        system_message: str | None = None,
    ) -> Self:
        """Run the tool without asking the user; ``updated_input`` replaces its whole input."""
        return cls._decide("allow", reason, updated_input, context, system_message)

    @classmethod
    def deny(cls, reason: str, *, context: str | None = None, system_message: str | None = None) -> Self:
        """Do not run the tool; Claude gets ``reason`` as the tool's error."""
        return cls._decide("deny", _text("reason", reason), None, context, system_message)

    @classmethod
    def ask(
        cls,
        reason: str | None = None,
        *,
        updated_input: Mapping[str, object] | None = None,
        context: str | None = None,
        system_message: str | None = None,
    ) -> Self:
        """Ask the user, who is shown ``reason``; ``updated_input`` replaces the whole input that is asked about."""
        return cls._decide("ask", reason, updated_input, context, system_message)

    @classmethod
    def defer(cls, *, system_message: str | None = None) -> Self:
        """Leave the call undecided for the program that runs Claude Code; only with ``-p`` and one call in the turn."""
        return cls._make("defer", system_message=system_message)

    @classmethod
    def update_input(
        cls, updated_input: Mapping[str, object], *, context: str | None = None, system_message: str | None = None
    ) -> Self:
        """Replace the tool's whole input (``tool_input.changed(...)``), and leave the decision to others."""
        if updated_input is None:
            raise TypeError("updated_input must be a dict, not None")
        return cls._decide(None, None, updated_input, context, system_message)

    @property
    def updated_input(self) -> dict[str, object] | None:
        """The input that replaces the tool's, or None."""
        value = self.output.get("updatedInput")
        return value if isinstance(value, dict) else None

    @classmethod
    def _decide(
        cls,
        verdict: str | None,
        reason: str | None,
        updated_input: Mapping[str, object] | None,
        context: str | None,
        system_message: str | None,
    ) -> Self:
        return cls._make(
            verdict,
            _optional_text("reason", reason),
            {
                "updatedInput": None if updated_input is None else _object("updated_input", updated_input),
                "additionalContext": _optional_text("context", context),
            },
            system_message=system_message,
        )


class PermissionRequestReply(Reply):
    """Returned by ``permission_request`` hooks: an answer in place of the user's, who may still answer first.

    Of several plugins' decisions deny beats allow. Grants, changed inputs and refusals were seen to work for Bash,
    tools of MCP servers and ExitPlanMode, ``addRules`` and ``setMode`` too, on Claude Code 2.1.150, 2.1.200, 2.1.250,
    2.1.300 and 2.1.330.
    """

    __slots__ = ()

    @classmethod
    def allow(
        cls,
        *,
        updated_input: Mapping[str, object] | None = None,
        updated_permissions: Sequence[Mapping[str, object]] | None = None,
        system_message: str | None = None,
    ) -> Self:
        """Grant the request; ``updated_input`` replaces the tool's whole input.

        ``updated_permissions`` are PermissionUpdate tables: ``addRules``, ``replaceRules`` or ``removeRules`` with
        ``rules`` and ``behavior``, ``setMode`` with ``mode``, ``addDirectories`` or ``removeDirectories`` with
        ``directories``; all with ``destination``. For AskUserQuestion and ExitPlanMode Claude Code ignores a grant
        without ``updated_input``. A plan is approved by its own input: another ``plan`` in it rewrites the plan's file,
        and ``setMode`` says which mode follows.
        """
        return cls._make(
            "allow",
            None,
            {
                "updatedInput": None if updated_input is None else _object("updated_input", updated_input),
                "updatedPermissions": None
                if updated_permissions is None
                else _permission_updates("updated_permissions", updated_permissions),
            },
            system_message=system_message,
        )

    @classmethod
    def deny(cls, message: str, *, interrupt: bool = False, system_message: str | None = None) -> Self:
        """Refuse the request; Claude is told ``message``. ``interrupt`` ends its turn as well."""
        return cls._make(
            "deny",
            _text("message", message),
            {"interrupt": _flag("interrupt", interrupt) or None},
            system_message=system_message,
        )

    @property
    def updated_input(self) -> dict[str, object] | None:
        """The input that replaces the tool's, or None."""
        value = self.output.get("updatedInput")
        return value if isinstance(value, dict) else None


class PermissionDeniedReply(Reply):
    """Returned by ``permission_denied`` hooks."""

    __slots__ = ()

    @classmethod
    def retry(cls, *, system_message: str | None = None) -> Self:
        """Tell Claude that it may try the call again."""
        return cls._make(output={"retry": True}, system_message=system_message)


class PostToolUseReply(_BlockOrContext):
    """Returned by ``post_tool_use`` hooks. The tool has run: a block only puts its reason beside the result."""

    __slots__ = ()

    @classmethod
    def update_output(cls, output: object, *, context: str | None = None, system_message: str | None = None) -> Self:
        """Show Claude this in place of the tool's output. Any JSON value but null, in the shape of the tool's own.

        For every tool since Claude Code 2.1.121.
        """
        return cls._replace("updatedToolOutput", output, context, system_message)

    @classmethod
    def update_mcp_output(
        cls, output: object, *, context: str | None = None, system_message: str | None = None
    ) -> Self:
        """Show Claude this in place of an MCP tool's output, as clients before 2.1.121 take it."""
        return cls._replace("updatedMCPToolOutput", output, context, system_message)

    @classmethod
    def classifier_context(cls, text: str, *, system_message: str | None = None) -> Self:
        """Tell the permission classifier ``text``: up to 2000 UTF-16 units, which all hooks share (since 2.1.236)."""
        _text("text", text)
        if utf16_units(text) > MAX_CLASSIFIER_CONTEXT:
            raise ValueError(f"text is longer than the {MAX_CLASSIFIER_CONTEXT} UTF-16 units that Claude Code takes")
        return cls._make(output={"classifierContext": text}, system_message=system_message)

    @classmethod
    def _replace(cls, name: str, output: object, context: str | None, system_message: str | None) -> Self:
        if output is None:
            raise TypeError("output must be a JSON value other than None")
        return cls._make(
            output={name: _json("output", output), "additionalContext": _optional_text("context", context)},
            system_message=system_message,
        )


class PostToolUseFailureReply(_BlockOrContext):
    """Returned by ``post_tool_use_failure`` hooks. A block only puts its reason beside the error."""

    __slots__ = ()


class PostToolBatchReply(_BlockOrContext):
    """Returned by ``post_tool_batch`` hooks. A block ends the turn before the next request to the model."""

    __slots__ = ()


class UserPromptSubmitReply(_Context):
    """Returned by ``user_prompt_submit`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, suppress_original_prompt: bool = False, system_message: str | None = None) -> Self:
        """Erase the prompt, and show the user why; ``suppress_original_prompt`` leaves the prompt out of that."""
        return cls._make(
            "block",
            _text("reason", reason),
            {"suppressOriginalPrompt": _flag("suppress_original_prompt", suppress_original_prompt) or None},
            system_message=system_message,
        )

    @classmethod
    def title(cls, session_title: str, *, context: str | None = None, system_message: str | None = None) -> Self:
        """Name the session, and optionally add context to the prompt."""
        return cls._make(
            output={
                "sessionTitle": _text("session_title", session_title),
                "additionalContext": _optional_text("context", context),
            },
            system_message=system_message,
        )


class UserPromptExpansionReply(_Context):
    """Returned by ``user_prompt_expansion`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, suppress_original_prompt: bool = False, system_message: str | None = None) -> Self:
        """Do not expand the command, and show the user why."""
        return cls._make(
            "block",
            _text("reason", reason),
            {"suppressOriginalPrompt": _flag("suppress_original_prompt", suppress_original_prompt) or None},
            system_message=system_message,
        )


class PreSkillShellCommandReply(Reply):
    """Returned by ``pre_skill_shell_command`` hooks. No other hook sees such a command."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, system_message: str | None = None) -> Self:
        """Do not run the command; its place in the text, and the user, are told ``reason``."""
        return cls._make("block", _text("reason", reason), system_message=system_message)


class SessionStartReply(_Context):
    """Returned by ``session_start`` hooks."""

    __slots__ = ()

    @classmethod
    def prepare(
        cls,
        *,
        context: str | None = None,
        initial_user_message: str | None = None,
        session_title: str | None = None,
        watch_paths: Sequence[str] | None = None,
        reload_skills: bool = False,
        system_message: str | None = None,
    ) -> Self:
        """Set the session up; at least one argument.

        ``initial_user_message`` is the first prompt (``-p`` only), ``session_title`` names the session (on startup,
        resume and fork), ``watch_paths`` are absolute paths whose changes fire FileChanged, ``reload_skills`` reads
        the skills again.
        """
        output = {
            "additionalContext": _optional_text("context", context),
            "initialUserMessage": _optional_text("initial_user_message", initial_user_message),
            "sessionTitle": _optional_text("session_title", session_title),
            "watchPaths": None if watch_paths is None else _paths("watch_paths", watch_paths),
            "reloadSkills": _flag("reload_skills", reload_skills) or None,
        }
        if system_message is None and all(value is None for value in output.values()):
            raise ValueError("prepare() needs at least one argument")
        return cls._make(output=output, system_message=system_message)


class SetupReply(_Context):
    """Returned by ``setup`` hooks."""

    __slots__ = ()


class StopReply(_BlockOrContext):
    """Returned by ``stop`` hooks. A block keeps Claude going, with the reason as what it is told.

    Claude Code ends a turn anyway after 8 blocks in a row.
    """

    __slots__ = ()

    @classmethod
    def go_on(cls, words: str) -> Self:
        """Keep Claude going with somebody else's words, exactly as they are: without the plugin's name before them."""
        return cls._make("block", _text("words", words), is_exact=True)


class SubagentStartReply(_Context):
    """Returned by ``subagent_start`` hooks. The context goes to the subagent."""

    __slots__ = ()


class SubagentStopReply(_BlockOrContext):
    """Returned by ``subagent_stop`` hooks. A block keeps the subagent going, with the reason as what it is told."""

    __slots__ = ()


class NotificationReply(_Quiet):
    """Returned by ``notification`` hooks. Claude Code takes nothing but a terminal sequence."""

    __slots__ = ()


class MessageDisplayReply(_Quiet):
    """Returned by ``message_display`` hooks."""

    __slots__ = ()

    @classmethod
    def display(cls, content: str) -> Self:
        """Show ``content`` in place of this piece of Claude's text; an empty string shows nothing."""
        if not isinstance(content, str):
            raise TypeError(f"content must be a str, not {type(content).__name__}")
        return cls._make(output={"displayContent": content})


class TaskCreatedReply(_NoHalt):
    """Returned by ``task_created`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, system_message: str | None = None) -> Self:
        """Undo the creation of the task; Claude is told ``reason``."""
        return cls._make("block", _text("reason", reason), system_message=system_message)


class TaskCompletedReply(Reply):
    """Returned by ``task_completed`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, system_message: str | None = None) -> Self:
        """Do not mark the task as completed; Claude is told ``reason`` (by exit code 2, the only way there is)."""
        return cls._make("block", _text("reason", reason), system_message=system_message)


class TeammateIdleReply(Reply):
    """Returned by ``teammate_idle`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str, *, system_message: str | None = None) -> Self:
        """Keep the teammate working; it is told ``reason`` (by exit code 2, the only way there is)."""
        return cls._make("block", _text("reason", reason), system_message=system_message)


class ConfigChangeReply(_Quiet):
    """Returned by ``config_change`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str) -> Self:
        """Do not apply the changed settings. Claude Code shows no message, and policy settings apply anyway."""
        return cls._make("block", _text("reason", reason))


class CwdChangedReply(_NoHalt):
    """Returned by ``cwd_changed`` hooks."""

    __slots__ = ()

    @classmethod
    def watch(cls, paths: Sequence[str], *, system_message: str | None = None) -> Self:
        """Watch these absolute paths, whose changes fire FileChanged."""
        return cls._make(output={"watchPaths": _paths("paths", paths)}, system_message=system_message)


class DirectoryAddedReply(_NoHalt):
    """Returned by ``directory_added`` hooks. A message after ``/add-dir`` also reaches Claude on the next turn."""

    __slots__ = ()


class FileChangedReply(_NoHalt):
    """Returned by ``file_changed`` hooks."""

    __slots__ = ()

    @classmethod
    def watch(cls, paths: Sequence[str], *, system_message: str | None = None) -> Self:
        """Watch these absolute paths, whose changes fire FileChanged."""
        return cls._make(output={"watchPaths": _paths("paths", paths)}, system_message=system_message)

    @classmethod
    def wake(cls, text: str) -> Self:
        """Begin a turn of Claude's, who is told ``text``; for hooks that are marked with ``@wakes`` alone.

        Claude Code gives it to Claude as an event of its own and not as a person's words: at once if Claude is idle,
        with the next results of tools if one runs (by exit code 2, measured on 2.1.150 and 2.1.330).
        """
        return cls._make(WAKE, _text("text", text))


class WorktreeCreateReply(_Plain):
    """Returned by ``worktree_create`` hooks, which replace git's own worktree."""

    __slots__ = ()

    @classmethod
    def path(cls, worktree_path: str) -> Self:
        """Use the worktree that the plugin made at this absolute path."""
        return cls._make(output={"worktreePath": _path("worktree_path", worktree_path)})

    @classmethod
    def block(cls, reason: str) -> Self:
        """Fail the creation (by exit code 2)."""
        return cls._make("block", _text("reason", reason))


class WorktreeRemoveReply(_Quiet):
    """Returned by ``worktree_remove`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str) -> Self:
        """Fail the removal, if the folder still exists afterwards (by exit code 2)."""
        return cls._make("block", _text("reason", reason))


class PreCompactReply(_Plain):
    """Returned by ``pre_compact`` hooks."""

    __slots__ = ()

    @classmethod
    def block(cls, reason: str) -> Self:
        """Do not compact."""
        return cls._make("block", _text("reason", reason))

    @classmethod
    def instructions(cls, text: str) -> Self:
        """Append ``text`` to the compaction's instructions. It must not begin with ``{``, which is read as JSON."""
        return cls._make(output={"text": _plain_text("text", text)})


class PostCompactReply(_Plain):
    """Returned by ``post_compact`` hooks."""

    __slots__ = ()

    @classmethod
    def show(cls, text: str) -> Self:
        """Show the user ``text``. It must not begin with ``{``, which is read as JSON."""
        return cls._make(output={"text": _plain_text("text", text)})


class PreModelSwitchReply(Reply):
    """Returned by ``pre_model_switch`` hooks. Of several plugins' decisions deny beats ask beats allow."""

    __slots__ = ()

    @classmethod
    def allow(cls, reason: str | None = None, *, system_message: str | None = None) -> Self:
        """Switch without asking."""
        return cls._make("allow", _optional_text("reason", reason), system_message=system_message)

    @classmethod
    def deny(cls, reason: str, *, system_message: str | None = None) -> Self:
        """Do not switch; the user is told ``reason``."""
        return cls._make("deny", _text("reason", reason), system_message=system_message)

    @classmethod
    def ask(cls, reason: str | None = None, *, system_message: str | None = None) -> Self:
        """Ask the user; works for an interactive ``/model`` and refuses the switch elsewhere."""
        return cls._make("ask", _optional_text("reason", reason), system_message=system_message)


class PostModelSwitchReply(_Context):
    """Returned by ``post_model_switch`` hooks. The context reaches the new model's next request."""

    __slots__ = ()


class _Form(_Quiet):
    """The base for the two events about an MCP server's form."""

    __slots__ = ()

    @classmethod
    def accept(cls, content: Mapping[str, object] | None = None) -> Self:
        """Accept, with these form values."""
        return cls._make("accept", None, {"content": None if content is None else _object("content", content)})

    @classmethod
    def decline(cls, reason: str | None = None) -> Self:
        """Decline."""
        return cls._make("decline", _optional_text("reason", reason))

    @classmethod
    def cancel(cls) -> Self:
        """Cancel, which beats what any other plugin says."""
        return cls._make("cancel")


class ElicitationReply(_Form):
    """Returned by ``elicitation`` hooks: an answer to an MCP server in place of the user's.

    Of several plugins' answers cancel beats decline beats accept. Seen on Claude Code 2.1.150, 2.1.200,
    2.1.250, 2.1.300 and 2.1.330. The dialog is drawn only once the hooks have ended (2.1.330), so no person answers
    meanwhile.
    """

    __slots__ = ()


class ElicitationResultReply(_Form):
    """Returned by ``elicitation_result`` hooks: what an MCP server gets in place of what the user answered.

    Of several plugins' answers cancel beats decline beats accept.
    """

    __slots__ = ()


REPLIES: dict[str, type[Reply]] = {
    "SessionStart": SessionStartReply,
    "Setup": SetupReply,
    "UserPromptSubmit": UserPromptSubmitReply,
    "UserPromptExpansion": UserPromptExpansionReply,
    "PreSkillShellCommand": PreSkillShellCommandReply,
    "PreToolUse": PreToolUseReply,
    "PermissionRequest": PermissionRequestReply,
    "PermissionDenied": PermissionDeniedReply,
    "PostToolUse": PostToolUseReply,
    "PostToolUseFailure": PostToolUseFailureReply,
    "PostToolBatch": PostToolBatchReply,
    "Notification": NotificationReply,
    "MessageDisplay": MessageDisplayReply,
    "SubagentStart": SubagentStartReply,
    "SubagentStop": SubagentStopReply,
    "TaskCreated": TaskCreatedReply,
    "TaskCompleted": TaskCompletedReply,
    "Stop": StopReply,
    "TeammateIdle": TeammateIdleReply,
    "ConfigChange": ConfigChangeReply,
    "CwdChanged": CwdChangedReply,
    "DirectoryAdded": DirectoryAddedReply,
    "FileChanged": FileChangedReply,
    "WorktreeCreate": WorktreeCreateReply,
    "WorktreeRemove": WorktreeRemoveReply,
    "PreCompact": PreCompactReply,
    "PostCompact": PostCompactReply,
    "PreModelSwitch": PreModelSwitchReply,
    "PostModelSwitch": PostModelSwitchReply,
    "Elicitation": ElicitationReply,
    "ElicitationResult": ElicitationResultReply,
}
"""The reply class of each event that takes anything of its own."""

_SILENT = frozenset({"StopFailure", "InstructionsLoaded", "SessionEnd"})
"""The events that honour nothing but a terminal sequence."""

_REFUSALS: dict[str, Callable[[str], Reply]] = {
    "PreToolUse": PreToolUseReply.deny,
    "PermissionRequest": PermissionRequestReply.deny,
    "PreModelSwitch": PreModelSwitchReply.deny,
    "UserPromptSubmit": UserPromptSubmitReply.block,
    "UserPromptExpansion": UserPromptExpansionReply.block,
    "PreSkillShellCommand": PreSkillShellCommandReply.block,
    "PostToolBatch": PostToolBatchReply.block,
    "SubagentStop": SubagentStopReply.block,
    "TaskCreated": TaskCreatedReply.block,
    "TaskCompleted": TaskCompletedReply.block,
    "Stop": StopReply.block,
    "TeammateIdle": TeammateIdleReply.block,
    "ConfigChange": ConfigChangeReply.block,
    "WorktreeCreate": WorktreeCreateReply.block,
    "WorktreeRemove": WorktreeRemoveReply.block,
    "PreCompact": PreCompactReply.block,
    "Elicitation": ElicitationReply.decline,
    "ElicitationResult": ElicitationResultReply.decline,
}


def closed(event_name: str, reason: str) -> Reply | None:
    """Return the reply of a plugin that fails closed, or None for an event that cannot be blocked."""
    refuse = _REFUSALS.get(event_name)
    return None if refuse is None else refuse(reason)


def message(event_name: str, text: str) -> Reply | None:
    """Return a reply that shows the user ``text``, or None for an event that discards messages."""
    kind = expected_reply(event_name)
    return kind.message(text) if hasattr(kind, "message") else None


def expected_reply(event_name: str) -> type[Reply]:
    """Return the class of replies to an event; Reply for an event that this version does not know."""
    return REPLIES.get(event_name, _Quiet if event_name in _SILENT else Reply)


def utf16_units(text: str) -> int:
    """Return the length of a text as JavaScript counts it."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def _constructors(reply: Reply) -> list[str]:
    kind = type(reply)
    names = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, classmethod)}
    return sorted(name for name in names if not name.startswith("_") and hasattr(kind, name))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if not value.strip():
        raise ValueError(f"{name} must not be empty")
    return value


def _optional_text(name: str, value: object) -> str | None:
    return None if value is None else _text(name, value)


def _plain_text(name: str, value: object) -> str:
    text = _text(name, value)
    if text.lstrip().startswith("{"):
        raise ValueError(f"{name} must not begin with '{{', which Claude Code reads as JSON")
    return _encodable(text)


def _encodable(text: str) -> str:
    """Return a text with its lone surrogates, which UTF-8 does not have, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


def _path(name: str, value: object) -> str:
    text = _text(name, value)
    if not text.startswith("/") or any(character in text for character in "\n\r\0") or text != text.strip():
        raise ValueError(f"{name} must be an absolute path in one line, not {value!r}")
    if text != _encodable(text):
        raise ValueError(f"{name} must be a path in UTF-8, not {value!r}")
    return text


def _paths(name: str, value: object) -> list[str]:
    return [_path(f"{name}[{index}]", item) for index, item in enumerate(_list(name, value, "absolute paths"))]


def _list(name: str, value: object, of: str) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a list of {of}, not {type(value).__name__}")
    return value


def _object(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict, not {type(value).__name__}")
    copy = _json(name, value)
    assert isinstance(copy, dict)  # noqa: S101 - for the type checker
    return copy


def _json(name: str, value: object, depth: int = 0) -> object:
    """Return a copy of a JSON value. Raises TypeError or ValueError that names the place of what JSON does not have."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"{name} is nested too deeply, or holds itself")
    if isinstance(value, float) and value - value != 0:
        raise ValueError(f"{name} is {value!r}, which JSON does not have")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{name} has the key {key!r}, and JSON has only str keys")
        return {key: _json(f"{name}[{key!r}]", item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(f"{name}[{index}]", item, depth + 1) for index, item in enumerate(value)]
    raise TypeError(f"{name} is a {type(value).__name__}, which JSON does not have")


_DESTINATIONS = ("userSettings", "projectSettings", "localSettings", "session", "cliArg")
_MODES = ("default", "auto", "acceptEdits", "dontAsk", "bypassPermissions", "plan", "manual")
_BEHAVIORS = ("allow", "deny", "ask")


def _permission_updates(name: str, value: object) -> list[object]:
    return [_permission_update(f"{name}[{index}]", item) for index, item in enumerate(_list(name, value, "dicts"))]


def _permission_update(name: str, value: object) -> dict[str, object]:
    update = _object(name, value)
    kind = update.get("type")
    if kind in ("addRules", "replaceRules", "removeRules"):
        fields = {"type", "rules", "behavior", "destination"}
        _one_of(f"{name}['behavior']", update.get("behavior"), _BEHAVIORS)
        for index, rule in enumerate(_list(f"{name}['rules']", update.get("rules"), "dicts")):
            place = f"{name}['rules'][{index}]"
            table = _object(place, rule)
            _text(f"{place}['toolName']", table.get("toolName"))
            _optional_text(f"{place}['ruleContent']", table.get("ruleContent"))
            _only(place, table, {"toolName", "ruleContent"})
    elif kind == "setMode":
        fields = {"type", "mode", "destination"}
        _one_of(f"{name}['mode']", update.get("mode"), _MODES)
    elif kind in ("addDirectories", "removeDirectories"):
        fields = {"type", "directories", "destination"}
        for index, directory in enumerate(_list(f"{name}['directories']", update.get("directories"), "str")):
            _text(f"{name}['directories'][{index}]", directory)
    else:
        _one_of(f"{name}['type']", kind, _KINDS)
    _one_of(f"{name}['destination']", update.get("destination"), _DESTINATIONS)
    _only(name, update, fields)
    return update


_KINDS = ("addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories")


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}{_hint(value, allowed)}; allowed: {', '.join(allowed)}")


def _hint(value: object, allowed: Iterable[str]) -> str:
    """Return a comma and what was probably meant; nothing if that is not clear."""
    from hookrouter.util.text import did_you_mean

    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    return f", {hint}" if hint else ""


def _only(name: str, table: Mapping[str, object], allowed: set[str]) -> None:
    unknown = sorted(table.keys() - allowed)
    if unknown:
        known = ", ".join(sorted(allowed))
        hint = _hint(unknown[0], sorted(allowed))
        raise ValueError(f"{name} has the unknown key {unknown[0]!r}{hint}; allowed: {known}")


def _terminal_sequence(sequence: object) -> str:
    if not isinstance(sequence, str):
        raise TypeError(f"sequence must be a str, not {type(sequence).__name__}")
    if not sequence:
        raise ValueError("sequence must not be empty")
    if len(sequence.encode("utf-8", "surrogatepass")) > MAX_TERMINAL_SEQUENCE:
        raise ValueError(f"sequence is longer than {MAX_TERMINAL_SEQUENCE} bytes")
    *pieces, rest = sequence.split("\a")
    for piece in pieces:
        command, _, content = piece.removeprefix("\x1b]").partition(";")
        if piece and not (piece.startswith("\x1b]") and command in _OSC_COMMANDS and _is_plain(content)):
            break
    else:
        if not rest:
            return sequence
    raise ValueError(f"sequence may hold BEL and the OSC commands 0, 1, 2, 9, 99, 777 ended by BEL, not {sequence!r}")


def _is_plain(content: str) -> bool:
    return not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in content)
