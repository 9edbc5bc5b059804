"""The names of the kinds of dialogs that this plugin serves."""

from __future__ import annotations

__all__ = ["ELICITATION", "PERMISSION", "PLAN", "QUESTION_TOOL"]

PERMISSION, PLAN, ELICITATION = "permission", "plan", "elicitation"

QUESTION_TOOL = "AskUserQuestion"
"""The tool whose calls are questions, which another plugin serves."""
