"""A hookrouter plugin that gives Claude the state of the project, unasked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import EventSpecs, SettingsSpecs
from hookrouter.replies import SessionStartReply, UserPromptSubmitReply

if TYPE_CHECKING:
    from hookrouter import Context
    from hookrouter.events import SessionStart, UserPromptSubmit

    from hookrouter_project_context.settings import Settings

GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
"""Takes no lock that Claude's own git would wait for, and starts no program that the project names."""


class ProjectContext(EventSpecs, SettingsSpecs):
    """Tells Claude the git state and the text of chosen files as a session starts, and the git state with prompts."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_project_context.settings import Settings

        return Settings

    @hookimpl
    @override
    def session_start(self, event: SessionStart, context: Context) -> SessionStartReply | None:
        settings = _settings(context)
        parts = [_git_state(context)] if settings.git else []
        parts += [_text(path, settings.length, context) for path in settings.files]
        text = "\n\n".join(filter(None, parts))
        return SessionStartReply.context(text) if text else None

    @hookimpl
    @override
    def user_prompt_submit(self, event: UserPromptSubmit, context: Context) -> UserPromptSubmitReply | None:
        text = _git_state(context) if _settings(context).git_with_prompts else ""
        return UserPromptSubmitReply.context(text) if text else None


def _settings(context: Context) -> Settings:
    from hookrouter_project_context.settings import Settings

    return context.settings(Settings)


def _git_state(context: Context) -> str:
    """Return branch and changed files as git tells them, shortened; empty outside a repository or without git."""
    import subprocess

    try:
        done = subprocess.run(
            [*GIT, "status", "--short", "--branch"],
            cwd=context.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        context.warn(f"git status: {error}")
        return ""
    if done.returncode != 0:
        return ""
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    more = [f"... and {len(lines) - 30} more"] if len(lines) > 30 else []
    return "\n".join(["git status --short --branch:", *lines[:30], *more])


def _text(name: str, length: int, context: Context) -> str:
    path = os.path.join(context.cwd, os.path.expanduser(name))
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(length + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        context.warn(f"{path}: {error}")
        return ""
    return f"{path}:\n{text[:length]}{' [cut]' if len(text) > length else ''}" if text.strip() else ""
