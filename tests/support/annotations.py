"""What an answered form is annotated with."""

from __future__ import annotations

__all__ = ["notes"]


def notes(annotations: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the notes, by question."""
    return {text: each["notes"] for text, each in annotations.items() if "notes" in each}
