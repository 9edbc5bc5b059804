"""The programs that Claude Code starts for each hook, in front of the router. Nothing imports them."""
