"""The names of the kinds of dialogs that this plugin serves."""

from __future__ import annotations

__all__ = ["ELICITATION", "KINDS", "PERMISSION", "PLAN", "QUESTION_TOOL"]

PERMISSION, PLAN, ELICITATION = "permission", "plan", "elicitation"
KINDS = (PERMISSION, PLAN, ELICITATION)

QUESTION_TOOL = "AskUserQuestion"
"""The tool whose calls are questions, which another plugin serves."""
