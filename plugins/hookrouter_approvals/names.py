"""The names of the kinds of dialogs that this plugin serves."""

from __future__ import annotations

__all__ = ["ELICITATION", "PERMISSION", "PLAN"]

PERMISSION, PLAN, ELICITATION = "permission", "plan", "elicitation"
