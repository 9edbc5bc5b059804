"""The resident processes that no plugin contributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._serving.gate_process import GateProcess

if TYPE_CHECKING:
    from hookrouter.serving.resident import ResidentProcess

__all__ = ["built_in"]


def built_in() -> list[ResidentProcess]:
    """Return them."""
    return [GateProcess()]
