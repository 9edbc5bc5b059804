"""The client's dialogs besides the question, as data: how each looks, and what its rows mean.

Seen on real clients 2.0.76 to 2.1.330; a new version's form is one more entry. A dialog is read by
:mod:`hookrouter_keystrokes.screens.other`, and never guessed: one that differs in a word is no form of these.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hookrouter_keystrokes.grammar import ClientText

__all__ = [
    "ALLOW",
    "AMENDED",
    "AMENDED_START",
    "DENY",
    "MORE_DASHES",
    "NOTICES",
    "OTHER_DIALOGS",
    "PLACE",
    "PLAN_MODES",
    "PLAN_WORDS",
    "REASONS",
    "SUBAGENT",
    "TIP",
    "TITLES",
    "TOLD",
    "DialogKind",
    "Notice",
    "OtherForm",
]


class DialogKind:
    """The client's dialogs besides the question: the values of ``OtherDialog.kind``."""

    PERMISSION = "permission"
    PLAN = "plan approval"
    TRUST = "workspace trust"
    MODEL = "model picker"
    SWITCH_MODEL = "model switch"
    SWITCH_EFFORT = "effort switch"
    HELD_MESSAGE = "held message"
    MCP_SERVER = "approval of an MCP server"
    MCP_SERVERS = "approval of MCP servers"
    BYPASS = "warning of the bypass mode"
    API_KEY = "API key in the environment"
    IMPORTS = "imports from outside the project"
    SETTINGS = "faults in settings"
    AUTO_MODE = "auto mode cannot check actions"
    AUTO_MODE_OFFER = "offer of auto mode"
    AUTO_MODE_COSTS = "what auto mode costs"


TOLD = frozenset([DialogKind.PERMISSION, DialogKind.PLAN])
"""Those that a hook tells of."""


class OtherForm(NamedTuple):
    """One form of a dialog that is no question: rows with one cursor, below a text, above a footer."""

    kind: str
    """One of the values of DialogKind."""
    above: ClientText
    """How the paragraph directly above the rows begins."""
    rows: tuple[str, ...]
    """How its first rows begin, behind the cursor's column; numbered ones may follow."""
    footers: tuple[str, ...]
    """Of which one is all that is below the rows; ``…`` stands for any text, but for no cursor and no rule."""
    title: str = ""
    """How a line above all that begins; empty if a tall dialog may have scrolled it away."""


class Notice(NamedTuple):
    """A dialog whose rows are no list of choices, or that has none: a text, and below it which keys do what."""

    kind: str
    """One of the values of DialogKind."""
    title: ClientText
    """What the line below its upper edge says, as a regular expression."""
    footers: tuple[str, ...]
    """Of which one is all that is below its text."""
    enter: str = ""
    """What Enter does, which is offered as its one row; empty if nothing is offered."""


NOTICES = (
    Notice(
        DialogKind.AUTO_MODE,
        ClientText("Auto mode can't check actions in this session", "2.1.330"),
        ("Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel",),
        "Enter: stay in auto mode, and approve each action that needs the check",
    ),
    Notice(
        DialogKind.AUTO_MODE_COSTS,
        ClientText("We're changing auto mode to no longer charge for classifier requests in Claude Code.", "2.1.300"),
        ("Enter to continue · Esc to cancel",),
        "Enter: continue",
    ),
    Notice(
        DialogKind.MCP_SERVERS,
        ClientText(r"\d+ new MCP servers found in (?:this project|\.mcp\.json)", "2.1.150"),
        ("Space to select · Esc to reject all", "Space to select · Enter to confirm · Esc to reject all"),
    ),
)

_BACKGROUND = " · ctrl+x ctrl+k twice to stop background agents"
"""Behind the footer while subagents work in the background (2.1.330)."""

_YES = ("1. Yes", "2. ")
_PLAIN_AMEND = (
    "Esc to cancel",
    "Esc to cancel · ctrl+e to explain",
    "Esc to cancel · Tab to add additional instructions",
    "Esc to cancel · Tab to amend",
    "Esc to cancel · Tab to amend · ctrl+e to explain",
)
_AMEND = (*_PLAIN_AMEND, *(f"{footer}{_BACKGROUND}" for footer in _PLAIN_AMEND))
_EDIT_PLAN = ("ctrl-g to edit in …", "ctrl+g to edit in …")
_CONFIRM = ("Enter to confirm · Esc to cancel",)
_CONFIRM_SERVER = (*_CONFIRM, "Enter to confirm · Esc to reject")
"""The second since 2.1.332."""
_CHOOSE_MODEL = (
    "…Enter to confirm · Esc to exit",
    "…Enter to confirm · escape to exit",
    "…Enter to confirm · d to set as default for new sessions · Esc to cancel",
    "…Enter to set as default · s to use this session only · Esc to cancel",
    "…s to use this session only · Enter to save · Esc to cancel",
)
_DEFAULT_MODEL = ("1. Default (recommended)", "2. ")
_NO_TRUST, _TRUST = "No, exit", "Yes, I trust this folder"
_SECURITY = "https://code.claude.com/docs/en/security"
_SERVERS_RUN_CODE = "MCP servers may execute code or access system resources."

_SERVER, _SERVERS, _NO_SERVER = (
    "Use this MCP server",
    "Use this and all future MCP servers in this project",
    "Continue without using this MCP server",
)
_NO_IMPORTS, _SOME_IMPORTS = "No, disable external imports", "Yes, allow external imports"
_LISTS: tuple[tuple[str, str, str, tuple[tuple[tuple[str, ...], str, str], ...]], ...] = (
    (
        DialogKind.MCP_SERVER,
        _SERVERS_RUN_CODE,
        "New MCP server found in ",
        (
            ((f"1. {_SERVERS}", f"2. {_SERVER}", f"3. {_NO_SERVER}"), "2.1.150", "2.1.150"),
            ((f"1. {_SERVER}", f"2. {_SERVERS}", f"3. {_NO_SERVER}"), "2.1.200", "2.1.200"),
            ((_SERVER, _SERVERS, _NO_SERVER), "2.1.250", ""),
        ),
    ),
    (
        DialogKind.BYPASS,
        _SECURITY,
        "WARNING: Claude Code running in Bypass Permissions mode",
        (
            (("1. No, exit", "2. Yes, I accept"), "2.1.150", "2.1.200"),
            (("No, exit", "Yes, I accept"), "2.1.250", ""),
        ),
    ),
    (
        DialogKind.API_KEY,
        "Do you want to use this API key?",
        "Detected a custom API key in your environment",
        (
            (("1. Yes", "2. No (recommended)"), "2.1.150", "2.1.200"),
            (("Yes", "No (recommended)"), "2.1.250", ""),
        ),
    ),
    (
        DialogKind.IMPORTS,
        "Important: Only use Claude Code with files you trust.",
        "Allow external CLAUDE.md file imports?",
        (
            ((f"1. {_SOME_IMPORTS}", f"2. {_NO_IMPORTS}"), "2.1.150", "2.1.200"),
            ((_NO_IMPORTS, _SOME_IMPORTS), "2.1.250", ""),
        ),
    ),
    (
        DialogKind.SETTINGS,
        "Files with errors are skipped entirely",
        "Settings Error",
        ((("1. Fix with Claude", "2. Exit and fix manually", "3. Continue without these settings"), "2.1.150", ""),),
    ),
    (
        DialogKind.AUTO_MODE_OFFER,
        _SECURITY,
        "Enable auto mode?",
        ((("1. Yes, and make it my default mode", "2. Yes, enable auto mode", "3. No, exit"), "2.1.150", "2.1.150"),),
    ),
)
"""Dialogs of one build, mostly of a client's start: what is above the rows, the title, and the rows since and until."""

OTHER_DIALOGS = (
    OtherForm(DialogKind.PERMISSION, ClientText("Do you want to proceed?", "2.0.76"), _YES, _AMEND),
    OtherForm(DialogKind.PERMISSION, ClientText("Do you want to make this edit to ", "2.0.76"), _YES, _AMEND),
    OtherForm(DialogKind.PERMISSION, ClientText("Do you want to create ", "2.0.76"), _YES, _AMEND),
    OtherForm(DialogKind.PERMISSION, ClientText("Do you want to overwrite ", "2.1.150"), _YES, _AMEND),
    OtherForm(
        DialogKind.PERMISSION,
        ClientText("Do you want to allow Claude to fetch this content?", "2.0.76"),
        _YES,
        ("", *_AMEND),
    ),
    OtherForm(DialogKind.PLAN, ClientText("Would you like to proceed?", "2.0.76", "2.1.12"), _YES, _EDIT_PLAN),
    OtherForm(
        DialogKind.PLAN,
        ClientText("Claude has written up a plan and is ready to execute. Would you like to proceed?", "2.1.100"),
        _YES,
        _EDIT_PLAN,
    ),
    OtherForm(
        DialogKind.PLAN,
        ClientText("Claude wants to exit plan mode", "2.1.12"),
        ("1. Yes", "2. No"),
        ("",),
        "Exit plan mode?",
    ),
    OtherForm(
        DialogKind.TRUST,
        ClientText("Learn more", "2.0.76", "2.1.12"),
        ("1. Yes, proceed", "2. No, exit"),
        _CONFIRM,
        "Do you trust the files in this folder?",
    ),
    OtherForm(
        DialogKind.TRUST,
        ClientText("Security guide", "2.1.100", "2.1.200"),
        (f"1. {_TRUST}", f"2. {_NO_TRUST}"),
        _CONFIRM,
        "Accessing workspace:",
    ),
    OtherForm(
        DialogKind.TRUST, ClientText("Security guide", "2.1.330"), (_NO_TRUST, _TRUST), _CONFIRM, "Accessing workspace:"
    ),
    OtherForm(
        DialogKind.MODEL,
        ClientText("Switch between Claude models.", "2.0.76", "2.1.200"),
        _DEFAULT_MODEL,
        _CHOOSE_MODEL,
        "Select model",
    ),
    OtherForm(
        DialogKind.MODEL,
        ClientText("Your pick is the default for new sessions.", "2.1.330"),
        _DEFAULT_MODEL,
        _CHOOSE_MODEL,
        "Select model",
    ),
    OtherForm(
        DialogKind.SWITCH_MODEL,
        ClientText("This conversation is cached for the current model.", "2.1.150"),
        ("1. Yes, switch to ", "2. No, go back"),
        ("", *_CONFIRM),
        "Switch model?",
    ),
    OtherForm(
        DialogKind.SWITCH_EFFORT,
        ClientText("This conversation is cached for the current effort level.", "2.1.150"),
        ("1. Yes, switch to ", "2. No, go back"),
        ("", *_CONFIRM),
        "Change effort level?",
    ),
    OtherForm(
        DialogKind.HELD_MESSAGE,
        ClientText("Message body (this is what will be delivered):", "2.1.330"),
        ("Deny — drop it and tell the sender it was declined", "Deliver this message to Claude"),
        ("", "ctrl+x a to always deliver ›"),
        "Held message from another session",
    ),
    *(
        OtherForm(
            kind,
            ClientText(above, since, until),
            rows,
            _CONFIRM_SERVER if kind == DialogKind.MCP_SERVER else _CONFIRM,
            title,
        )
        for kind, above, title, forms in _LISTS
        for rows, since, until in forms
    ),
)
"""What else can be on screen where a question is expected. All others of the client's dialogs read as unknown."""


ALLOW = "Yes"
"""The row that allows a call and nothing else; while a text is being added to it, it has other words."""
DENY = ("No", "No, and tell Claude what to do differently (esc)")
"""The last row: it refuses, and the turn ends. Only the first of them takes a text."""
AMENDED = ("No, and tell Claude what to do differently", "No, tell Claude what to do differently")
"""The same row while a text can be added to it, without one; the second on the dialogs of MCP tools."""
AMENDED_START = "No, "
"""How the row begins with one."""

TITLES = {
    "Bash": ("Bash command",),
    "Write": ("Create file", "Overwrite file"),
    "Edit": ("Edit file",),
    "Read": ("Read file",),
    "WebFetch": ("Fetch",),
    "mcp": ("Tool use",),
}
"""What the first line of a permission's dialog says, by tool; ``mcp`` for the tools of MCP servers. No two have one in
common: the calls of a tool that no rule names are not known, so that nothing else tells such a dialog apart."""
SUBAGENT = re.compile(r" · from the .+ agent")
"""What follows the title if a subagent calls (2.1.330)."""
PLACE = re.compile(r"\s+\d+ of \d+$")
"""What stands at the right end of the title while other dialogs wait, or have waited: this one's place (2.1.300 on)."""
TIP = 'Tip: auto mode handles these prompts for you — choose "switch to auto mode" below'
"""What may follow the title, over several lines in a narrow pane, and is about no call (from 2.1.250 on)."""
MORE_DASHES = "╌"
"""Lines of nothing else bound what a dialog is about: files on all clients, all else from 2.1.330 on."""
REASONS = ("This command requires approval",)
"""What may stand below a command."""

PLAN_MODES = {
    "Yes": "",
    "Yes, and use auto mode": "auto",
    "Yes, auto-accept edits": "acceptEdits",
    "Yes, manually approve edits": "default",
    "Yes, and switch to default (ask each time) for this session": "default",
}
"""The rows that approve a plan, with the mode that follows; empty for the one before the plan."""
PLAN_WORDS = ("Tell Claude what to change", "shift+tab to approve with this feedback")
"""The row that takes what is missing in a plan: its words while it is empty, and what stands below it."""
