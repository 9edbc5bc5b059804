"""What ``hookrouter doctor`` finds of an installation, and figures of its journal, for whoever shows them."""

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.doctor import examine
from hookrouter._diagnostics.statistics import Calls, Figures, Timeline, Times

__all__ = ["ERROR", "OK", "WARNING", "Calls", "Figures", "Finding", "Timeline", "Times", "examine"]
