"""Which pages of memory calls write to, so that children have copies of them before a call comes.

A forked process shares its parent's memory; the first to write to a page has it copied, about 3 us each, and in Python
to look at an object is to write to it. A call writes to some hundreds of pages, mostly the same ones. Linux tells which
pages a process has copied (``/proc/PID/pagemap``, bit 56) and copies pages at request (``MADV_POPULATE_WRITE``, since
5.14). Elsewhere nothing is learned, and nothing is copied beforehand.
"""

from __future__ import annotations

import array
import ctypes
import mmap
import resource
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CopiedPages", "Runs", "Written", "copied_pages", "copy_runs", "own_runs"]

Runs = list[tuple[int, int]]
"""Neighbouring pages: the number of the first one, which is its address divided by the size of a page, and how many."""

MOST_PAGES = 2048
"""How many pages are copied beforehand: 8 MB for each child that waits for a call, or with one."""

FEW = 64
"""For so many pages a call may wait before it tells which."""

LEARNING = 8
"""How many calls tell of their pages after the router has begun or has loaded something."""

SELDOM = 64
"""After that every so-manieth child looks, to know of calls of another kind: the look itself takes a millisecond."""

_MOST_ONCE = 8 * MOST_PAGES

_POPULATE_WRITE = 23
_PRESENT, _EXCLUSIVE = 1 << 63, 1 << 56
_LARGEST = 256 << 20
"""Bytes of a mapping above which it is left out: what a plugin maps, not what the interpreter keeps."""


class Written:
    """What a child writes to from a moment on."""

    def __init__(self) -> None:
        """From now on."""
        self._before = copied_pages()
        self._faults = _faults()

    def runs(self) -> Runs:
        """Return the pages, if the child had to wait for more than a few."""
        if _faults() - self._faults <= FEW:
            return []
        return _runs(sorted(copied_pages() - self._before))


def _faults() -> int:
    """Return for how many pages this process has had to wait so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def copied_pages() -> set[int]:
    """Return the numbers of the pages that this process has for itself; none where the system does not say."""
    found: set[int] = set()
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            lines = maps.readlines()
        with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
            for line in lines:
                span, permissions, *_ = line.split()
                first, end = (int(address, 16) // mmap.PAGESIZE for address in span.split("-"))
                if not permissions.startswith("rw-p") or (end - first) * mmap.PAGESIZE > _LARGEST:
                    continue
                pagemap.seek(first * 8)
                entries = array.array("Q", pagemap.read((end - first) * 8))
                copied = _PRESENT | _EXCLUSIVE
                found.update(first + place for place, entry in enumerate(entries) if entry & copied == copied)
    except (OSError, ValueError):
        return set()
    return found


def own_runs() -> Runs:
    """Return the pages that this process has for itself now: after a fork it shares them until it copies them again."""
    return _runs(sorted(copied_pages()))


def copy_runs(runs: Iterable[tuple[int, int]]) -> None:
    """Have pages copied for this process now. Those that it does not have any more, or not yet, are left out."""
    with suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for first, count in runs:
            advise(ctypes.c_void_p(first * mmap.PAGESIZE), ctypes.c_size_t(count * mmap.PAGESIZE), _POPULATE_WRITE)


class CopiedPages:
    """The pages that calls of one router have written to."""

    def __init__(self) -> None:
        """None are known yet."""
        self._pages: set[int] = set()
        self._once: set[int] = set()
        """Those that one call has told: it may have done something that others do not."""
        self._told = 0
        self._made = 0
        self.runs: Runs = []
        """Those to be copied beforehand."""

    def is_learning(self) -> bool:
        """Whether the next child is to look what it writes to."""
        self._made += 1
        return self._told < LEARNING or not self._made % SELDOM

    def add(self, runs: object) -> None:
        """Take in what a call tells: the pages that it wrote to. Those that two calls tell are copied from then on.

        What is no list of pages is left out.
        """
        self._told += 1
        for run in runs if isinstance(runs, list) else []:
            if not (isinstance(run, list) and len(run) == 2 and all(type(number) is int for number in run)):
                continue
            first, count = run
            if 0 < count <= MOST_PAGES - len(self._pages) and 0 <= first < 1 << 52:
                pages = set(range(first, first + count))
                self._pages |= pages & self._once
                self._once ^= pages
        if len(self._once) > _MOST_ONCE:
            self._once.clear()
        self.runs = _runs(sorted(self._pages))

    def __len__(self) -> int:
        """Return how many are copied."""
        return len(self._pages)

    def forget(self) -> None:
        """Begin anew: the router's own memory has changed."""
        self._pages.clear()
        self._once.clear()
        self._told = 0
        self.runs = []


def _runs(pages: list[int]) -> Runs:
    """Return ascending numbers as runs."""
    if not pages:
        return []
    starts = [0, *(place for place, (one, next_one) in enumerate(pairwise(pages), 1) if next_one != one + 1)]
    return [(pages[start], end - start) for start, end in pairwise([*starts, len(pages)])]
