"""Types prompts and commands of a session's queue into the client's prompt box: the prompt channel named ``keys``."""
