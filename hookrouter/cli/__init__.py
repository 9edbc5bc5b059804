"""The command line for people and agents. Nothing here is on the way of ``hookrouter run``."""
