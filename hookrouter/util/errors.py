"""The base of hookrouter's exceptions."""

__all__ = ["HookrouterError"]


class HookrouterError(Exception):
    """What hookrouter raises for callers to catch; every error of its own that is not a programming mistake is one."""
