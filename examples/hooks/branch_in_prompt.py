"""Tells Claude, with each prompt, on which branch it is and how many files have changed."""

import subprocess

from hookrouter import Context, hookimpl
from hookrouter.replies import UserPromptSubmitReply

# Starts no program that a repository names, and writes nothing.
GIT = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--short", "--branch"]


@hookimpl
def user_prompt_submit(context: Context) -> UserPromptSubmitReply | None:
    try:
        done = subprocess.run(GIT, cwd=context.cwd, capture_output=True, text=True, errors="replace", timeout=3)
    except (OSError, subprocess.TimeoutExpired) as error:
        context.debug(f"git: {error}")
        return None
    if done.returncode != 0:  # no repository
        return None
    branch, *changed = done.stdout.splitlines()
    return UserPromptSubmitReply.context(f"git: {branch.removeprefix('## ')}, {len(changed)} changed files")
