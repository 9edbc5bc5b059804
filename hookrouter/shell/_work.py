"""The parser, and how much work is done for one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        from tree_sitter import Language, Parser

        _parsers.append(Parser(Language(_grammar())))
    return _parsers[0]


def _grammar() -> object:
    """Return the grammar, as tree-sitter takes it.

    Its package imports importlib.resources, for queries that nothing here needs, which takes longer than Python does to
    start: so its extension module is loaded alone, where it is found.
    """
    from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
    from importlib.util import module_from_spec

    package = PathFinder.find_spec("tree_sitter_bash")
    binding = PathFinder.find_spec("_binding", package.submodule_search_locations) if package else None
    if binding is None or not isinstance(binding.loader, ExtensionFileLoader) or binding.origin is None:
        import tree_sitter_bash

        return tree_sitter_bash.language()
    name = "tree_sitter_bash._binding"
    loader = ExtensionFileLoader(name, binding.origin)
    module = module_from_spec(ModuleSpec(name, loader, origin=binding.origin))
    loader.exec_module(module)
    return module.language()
