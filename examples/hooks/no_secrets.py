"""Refuses to write secrets: in files by Write, Edit and NotebookEdit, and in command lines.

It knows secrets by their form, so it finds what has one of FORMS, and no password. What Claude puts together
from two edits, or from variables of a command, it does not see.
"""

import re
from collections.abc import Iterable

from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply
from hookrouter.tools import BashInput, EditInput, NotebookEditInput, WriteInput

FORMS = {
    "a private key": r"-----BEGIN ([A-Z]+ )*PRIVATE KEY-----",
    "a key of AWS": r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
    "a token of GitHub": r"\b(gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{22,})",
    "a token of GitLab": r"\bglpat-[0-9A-Za-z_-]{20}",
    "a token of Slack": r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",
    "a key of Google": r"\bAIza[0-9A-Za-z_-]{35}",
    "a key of Anthropic or OpenAI": r"\bsk-(ant|proj)-[0-9A-Za-z_-]{20,}",
    "a key of Stripe": r"\b[rs]k_live_[0-9A-Za-z]{20,}",
}


@hookimpl
def pre_tool_use_write(tool_input: WriteInput) -> PreToolUseReply | None:
    return check([tool_input.content])


@hookimpl
def pre_tool_use_edit(tool_input: EditInput) -> PreToolUseReply | None:
    return check([tool_input.new_string])


@hookimpl
def pre_tool_use_notebook_edit(tool_input: NotebookEditInput) -> PreToolUseReply | None:
    return check([tool_input.new_source])


@hookimpl
def pre_tool_use_bash(tool_input: BashInput) -> PreToolUseReply | None:
    words = (word.value for command in tool_input.commands().commands for word in command.words)
    return check([tool_input.command, *(word for word in words if word is not None)])  # without their quotes


def check(texts: Iterable[str | None]) -> PreToolUseReply | None:
    for text in texts:
        if text is None:  # missing, or not a string: refuse what you cannot read
            return PreToolUseReply.deny("There is no text that can be read.")
        for what, form in FORMS.items():
            if re.search(form, text):
                return PreToolUseReply.deny(f"That holds {what}. Read it from the environment when it runs.")
    return None
