"""Refuses forced pushes, however they are written: the line is read as the shell reads it.

An alias of git's own, and what a script or Makefile runs, is not seen: protect the branch on the server, too.
"""

from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply
from hookrouter.tools import BashInput

FORCED = (
    "git push -f*",
    "git push -[!-]*f*",  # -uf
    "git push --force*",
    "git push --m*",  # --mirror, which git takes shortened, too
    "git push +*",  # a refspec that forces
    "git *.push=+* push",  # the same by git -c remote.origin.push=+main
    "git *.mirror* push",
    "git send-pack",
)


@hookimpl
def pre_tool_use_bash(tool_input: BashInput) -> PreToolUseReply | None:
    line = tool_input.commands()
    if any(command.may_match(rule) for command in line.commands for rule in FORCED):
        return PreToolUseReply.deny("People force-push here, not agents.")
    if not line.certain:  # it may run anything
        return PreToolUseReply.deny(f"It is not certain what this line runs: {line.doubts[0].why}.")
    return None
