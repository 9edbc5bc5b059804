"""What may not happen even once: assertions whose first failure counts, though the test passes when it is run again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["UnsafeError", "safety"]


class UnsafeError(AssertionError):
    """The product did what it promises never to do: a wrong answer told as right, a prompt twice, a guard passed."""


@contextmanager
def safety(promise: str) -> Iterator[None]:
    """Have the assertions of the block be about a promise of the product.

    A timeout in the block stays what it is: a slow machine breaks no promise. Raises UnsafeError.
    """
    try:
        yield
    except AssertionError as error:
        raise UnsafeError(f"{promise}: {error}") from error
