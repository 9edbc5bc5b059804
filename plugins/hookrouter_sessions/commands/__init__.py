"""The commands ``hookrouter send``, ``hookrouter queue`` and ``hookrouter sessions``."""
