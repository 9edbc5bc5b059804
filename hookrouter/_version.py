"""The version of hookrouter; apart, so that what stands low can know it."""

__all__ = ["__version__"]

__version__ = "0.1.0"
