"""Helpers for tests of hookrouter and of its plugins: private tmux servers, a scripted model, the real client."""
