"""The command ``skill``: prints, or installs, what teaches an agent to answer.

The text is the prompt ``skill.md``, with ``skill_<agent>.md`` put in where it says ``$arrival``, and the command that
starts this hookrouter where it says ``$hookrouter``; a user's own copies override the shipped ones. An installed file
ends with a line that holds a digest of all above it: by that a later call knows that nobody has changed it since.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from string import Template
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter.cli.application import Application
from hookrouter.dialogs.messages.formatting import start_command
from hookrouter.dialogs.messages.prompts import read_prompt
from hookrouter.storage.documents import replace_file
from hookrouter.util.errors import HookrouterError
from hookrouter.util.program import script_argv
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.home import Home

__all__ = ["SkillError", "install", "skill", "skill_text", "skills_folder"]

NAME = "hookrouter"
"""The skill's name, and its folder's."""

AGENTS: Mapping[str, tuple[str, str]] = {
    "openclaw": ("OPENCLAW_STATE_DIR", ".openclaw"),
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
}
"""By agent: the variable that names the folder above its skills, and that folder in the user's home otherwise."""

_STAMP = "<!-- Installed by hookrouter. Change prompts/skill.md instead of this file. sha256 {} -->\n"
_STAMPED = re.compile(r"\A(.*)<!-- Installed by hookrouter\.[^\n]* sha256 ([0-9a-f]{64}) -->\n\Z", re.DOTALL)
_HEAD = re.compile(r"\A---\n(?:[^\n]*\n)*?name: hookrouter\n(?:[^\n]*\n)*?---\n")


class SkillError(HookrouterError):
    """The skill cannot be made or installed; the message says why and what to do."""


def skill(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="The skills folder for --install; default: the agent's own.")
    ] = None,
    agent: Annotated[str, typer.Option("--for", metavar="AGENT", help="openclaw or claude-code.")] = "openclaw",
    to_install: Annotated[
        bool, typer.Option("--install", help="Write it into a skills folder, as hookrouter/SKILL.md.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --install: replace a file that hookrouter did not write.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document for programs.")] = False,
) -> int:
    """Print or install the skill that teaches an agent to list, decide and answer.

    \b
    Examples:
      hookrouter skill --for claude-code
      hookrouter skill --for openclaw --install
      hookrouter skill --install ~/agents/night-shift/skills

    \b
    Exit codes:
      0  printed or installed
      1  not installed, and why
      2  wrong arguments
    """
    fault = ""
    if agent not in AGENTS:
        fault = f"--for: found {printable(agent)!r}, allowed are {' and '.join(AGENTS)}"
    elif not to_install and (force or folder is not None):
        fault = "a folder and --force go with --install"
    if fault:
        return _fail(fault, 2, as_json=as_json)
    app = Application.from_environ()
    try:
        text = skill_text(app.home, agent, app.environ)
        if not to_install:
            typer.echo(
                json.dumps({"ok": True, "agent": agent, "name": NAME, "text": text}) if as_json else text.rstrip()
            )
            return 0
        path = os.path.join(folder or skills_folder(agent, app.environ), NAME, "SKILL.md")
        path = os.path.abspath(os.path.expanduser(path))
        outcome = install(path, text, force=force)
    except SkillError as error:
        return _fail(str(error), 1, as_json=as_json)
    if as_json:
        typer.echo(json.dumps({"ok": True, "agent": agent, "name": NAME, "path": path, "outcome": outcome}))
    else:
        typer.echo(f"{outcome}: {printable(path)}")
    return 0


def skill_text(home: Home, agent: str, environ: Mapping[str, str]) -> str:
    """Return the whole SKILL.md for one agent. Raises SkillError for a prompt that is missing or has no head."""
    try:
        body, arrival = read_prompt(home, "skill.md"), read_prompt(home, f"skill_{agent}.md")
    except FileNotFoundError as error:
        raise SkillError(str(error)) from None
    text = Template(body).safe_substitute(arrival=arrival.strip(), hookrouter=start_command(script_argv(), environ))
    if not _HEAD.match(text):
        raise SkillError(
            f"skill.md in {home.prompts} must begin with front matter: ---, name: {NAME}, description: ..., ---"
        )
    return text.rstrip() + "\n"


def skills_folder(agent: str, environ: Mapping[str, str]) -> str:
    """Return the folder in which an agent looks for skills. Raises SkillError if the user's home is unknown."""
    variable, name = AGENTS[agent]
    chosen = environ.get(variable, "")
    if os.path.isabs(chosen):
        return os.path.join(chosen, "skills")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise SkillError("the user's home is not known; name the skills folder")
    return os.path.join(home, name, "skills")


def install(path: str, text: str, *, force: bool = False) -> str:
    """Write the skill to ``path`` and return ``written``, ``updated`` or ``unchanged``.

    A file that hookrouter did not write, or that was changed since, is replaced only with ``force``. Raises SkillError.
    """
    whole = f"{text}\n"
    whole += _STAMP.format(hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest())
    try:
        with open(path, encoding="utf-8", newline="") as file:
            found = file.read()
    except FileNotFoundError:
        found = None
    except (OSError, ValueError) as error:
        raise SkillError(f"{path} cannot be read: {error}") from None
    if found == whole:
        return "unchanged"
    if found is not None and not force and not _is_ours(found):
        raise SkillError(f"{path} was not written by hookrouter, or was changed since; --force replaces it")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_file(path, whole.encode("utf-8", "backslashreplace"), durable=False)
    except OSError as error:
        raise SkillError(f"{path} cannot be written: {error.strerror or error}") from None
    return "written" if found is None else "updated"


def _is_ours(text: str) -> bool:
    match = _STAMPED.match(text)
    return match is not None and hashlib.sha256(match[1].encode("utf-8", "surrogatepass")).hexdigest() == match[2]


def _fail(reason: str, code: int, *, as_json: bool) -> int:
    if as_json:
        typer.echo(json.dumps({"ok": False, "reason": reason}))
    else:
        typer.echo(f"hookrouter skill: {printable(reason)}", err=True)
    return code
