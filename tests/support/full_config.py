"""A config.toml with a table of every kind."""

from __future__ import annotations

__all__ = ["FULL"]

FULL = """
[[agents]]
id = "warden"
sessions = ["warden-*", "w?"]
workdirs = ["~/work/**/app", "/srv/*"]
enabled = true
gateway = "shell"

[[agents]]
id = "other"

[gateways.shell]
type = "command"
command = ["wake", "{agent}"]
token_env = "WAKE_TOKEN"
password_file = "/run/secret"

[answer]
channels = ["reply", "keys"]
planner = "mine"
terminal = "screen"

[plugins.guard]
on_error = "closed"
timeout = 3

[plugins.noisy]
enabled = false

[plugins.noisy.settings]
level = 2
names = ["a", { b = 1.5 }]
"""
