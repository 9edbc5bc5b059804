"""What Claude Code is told to send with an http hook."""

__all__ = ["HEADERS"]

HEADERS = {
    "x-hookrouter-tmux": "TMUX",
    "x-hookrouter-tmux-pane": "TMUX_PANE",
    "x-hookrouter-entrypoint": "CLAUDE_CODE_ENTRYPOINT",
}
"""The headers, in lower case as some clients send them, that bring variables of Claude Code's environment."""
