"""How addresses of the page are written. Without attrs: the router imports this."""

from __future__ import annotations

__all__ = ["DEFAULT_PORTS", "base_url", "origin_at"]

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The ports that an address goes without."""


def origin_at(scheme: str, place: str) -> str:
    """Return the address of a server at ``HOST:PORT`` as browsers write it: small, and without a default port."""
    return f"{scheme}://{place.lower().removesuffix(f':{DEFAULT_PORTS[scheme]}')}"


def base_url(url: str, address: str, *, tls: bool) -> str:
    """Return how people reach the page, without a slash at the end: by ``url``, or by where it listens."""
    return url or origin_at("https" if tls else "http", address)
