"""Follows sessions from hook to hook, submits what waits in their queues, and wakes agents when a turn ends.

This module holds the hooks only. What they need is imported when they are called, because it is on the way of every
``hookrouter run`` that reaches this plugin.
"""

from __future__ import annotations

__all__: list[str] = []
