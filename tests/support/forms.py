"""The form of one question that tests of sessions have Claude ask."""

from typing import Any

__all__ = ["FORM"]

FORM: dict[str, Any] = {
    "questions": [
        {
            "question": "Which way?",
            "header": "Way",
            "options": [{"label": "Left", "description": "l"}, {"label": "Right", "description": "r"}],
            "multiSelect": False,
        }
    ]
}
