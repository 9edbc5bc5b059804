"""Reads the hook contract of Claude Code, and the payloads that were recorded: the JSON files beside this module."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import Any

__all__ = ["ATTRIBUTES", "CONTRACT_FILE", "MCP_PATTERN", "TOOL_EVENTS", "VERSION", "contract", "recorded", "snake"]

VERSION = "2.1.332"
"""The client version that the contract was measured on; it is part of the files' names."""

CONTRACT_FILE = os.path.join(os.path.dirname(__file__), f"claude-code-{VERSION}.json")
"""The contract that this version of hookrouter is made for."""

_SAMPLES_FILE = os.path.join(os.path.dirname(__file__), f"samples-{VERSION}.json")

MCP_PATTERN = "mcp__<server>__<tool>"
"""The contract's entry for the tools of MCP servers: a pattern, not a tool."""

TOOL_EVENTS = ("PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure")
"""The events about one tool call, in the order in which a call meets them."""

ATTRIBUTES = {
    "-A": "lines_after",
    "-B": "lines_before",
    "-C": "lines_around",
    "-i": "ignore_case",
    "-n": "line_numbers",
    "-o": "only_matching",
}
"""Wire name -> Python name, if the former is no word: the options of Grep."""


def snake(name: str) -> str:
    """Return ``name`` in snake case: ``AskUserQuestion`` -> ``ask_user_question``, ``LSP`` -> ``lsp``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@cache
def contract() -> dict[str, Any]:
    """Return the contract, which is shared and must not be changed."""
    return _load(CONTRACT_FILE)


@cache
def recorded() -> dict[str, Any]:
    """Return all recorded payloads, which are shared and must not be changed.

    The keys are ``Event``, ``Event:Tool`` or ``Event:value of its matcher``; each has its ``payload``, and says under
    ``captured_from`` in which kind of run Claude Code sent it. Only the path of the home was changed.
    """
    return _load(_SAMPLES_FILE)


def _load(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        document: dict[str, Any] = json.load(file)
    return document
