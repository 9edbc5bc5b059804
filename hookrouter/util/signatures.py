"""What a function takes, without evaluating what its author has annotated.

From 3.14 on Python evaluates annotations when they are asked for (PEP 649). A name that is imported for type checkers
alone is not there then, and pluggy, which asks for names of arguments only, calls such a function all the same.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["annotations_of", "signature_of"]

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """Return a function's signature, with annotations as their source has them. Raises as inspect.signature."""
        return inspect.signature(function, annotation_format=Format.STRING)

    def annotations_of(function: Callable[..., Any]) -> Mapping[str, Any]:
        """Return a function's annotations as its source has them."""
        return get_annotations(function, format=Format.STRING)

else:

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """Return a function's signature. Raises as inspect.signature."""
        return inspect.signature(function)

    def annotations_of(function: Callable[..., Any]) -> Mapping[str, Any]:
        """Return a function's annotations."""
        return getattr(function, "__annotations__", {})
