"""The parser, and how much work is done for one line."""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node, Parser

__all__ = ["Work"]


class Work:
    """How much may still be done for one line, with all texts in it: what bounds the reader's time."""

    LENGTH = 200_000
    """Characters of a line."""
    STEPS = 150
    """Calls of tree-sitter's progress callback: it makes one for each hundred steps of its parser, or so."""
    NODES = 5_000
    """Of its trees."""
    PARTS = 10_000
    """Of words."""
    COMMANDS = 500
    DEPTH = 40
    """How many commands, or nodes of a tree that is not understood, may be in each other, over all texts."""
    TEXTS = 5
    """How many texts may be in each other: ``bash -c "bash -c '…'"``."""

    def __init__(self) -> None:
        self.steps = self.STEPS
        self.nodes = self.NODES
        self.parts = self.PARTS
        self.commands = self.COMMANDS
        self.depth = 0

    def parse(self, source: bytes) -> Node | None:
        """Return the tree of a text; None if there is no work left for it. ``source`` is ASCII."""
        parser = _parser()

        def read(at: int, _point: object) -> bytes:
            return source[at : at + 4096]

        def progress(_at: int, _has_error: bool) -> bool:
            self.steps -= 1
            return self.steps < 0

        try:
            return parser.parse(read, progress_callback=progress).root_node
        except ValueError:
            # What tree-sitter raises for a parse that was cut short.
            parser.reset()
            return None


_parsers: list[Parser] = []


def _parser() -> Parser:
    if not _parsers:
        binding = _extension("tree_sitter")
        _parsers.append(binding.Parser(binding.Language(_extension("tree_sitter_bash").language())))
    return _parsers[0]


def _extension(package: str) -> Any:
    """Return the extension module of a package, for what the package itself offers.

    The packages import ``typing`` and ``importlib.resources``, for parts that nothing here needs, which takes longer
    than Python does to start: so the extension module is loaded alone, where it is found.
    """
    from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
    from importlib.util import module_from_spec

    name = f"{package}._binding"
    if package not in sys.modules:
        found = PathFinder.find_spec(package)
        binding = PathFinder.find_spec("_binding", found.submodule_search_locations) if found else None
        if binding is not None and isinstance(binding.loader, ExtensionFileLoader) and binding.origin is not None:
            loader = ExtensionFileLoader(name, binding.origin)
            module = module_from_spec(ModuleSpec(name, loader, origin=binding.origin))
            loader.exec_module(module)
            return module
    return __import__(package)
