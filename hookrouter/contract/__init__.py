"""The hook contract of Claude Code."""
