"""Which pages of memory a forked child writes to."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import sys
from collections.abc import Iterable
from itertools import chain

import pytest

from hookrouter._serving.copied_pages import FEW, Written, copy_runs

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of copied pages")

PAGES = 3 * FEW


def pages_of(runs: list[tuple[int, int]]) -> set[int]:
    return set(chain.from_iterable(range(first, first + count) for first, count in runs))


def in_child(work: object) -> object:
    """Return what a function returns in a forked child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writing, json.dumps(work()).encode())  # type: ignore[operator]
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(said)


@pytest.fixture
def memory() -> bytearray:
    """Memory of this process that lies in pages of its own."""
    return bytearray(os.urandom(mmap.PAGESIZE * (PAGES + 1)))


def first_page(memory: bytearray) -> int:
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return -(-address // mmap.PAGESIZE)


@linux
def test_a_child_tells_the_pages_that_it_has_written_to(memory: bytearray) -> None:
    first = first_page(memory)
    start = first * mmap.PAGESIZE - ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def write(pages: Iterable[int]) -> None:
        for page in pages:
            memory[start + page * mmap.PAGESIZE] = 1

    def told() -> list[int]:
        write([2, 3])
        written = Written()
        write(range(3, PAGES - 1))
        return sorted(page - first for page in pages_of(written.runs()) if first <= page < first + PAGES)

    assert in_child(told) == [*range(4, PAGES - 1)]


@linux
def test_nobody_waits_for_a_page_that_was_copied_before(memory: bytearray) -> None:
    first = first_page(memory)
    start = first * mmap.PAGESIZE - ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def written_to(*, beforehand: bool) -> int:
        if beforehand:
            copy_runs([(first, PAGES - 1)])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for place in range(start, start + (PAGES - 1) * mmap.PAGESIZE, mmap.PAGESIZE):
            memory[place] = 1
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    late, early = (in_child(lambda b=b: written_to(beforehand=b)) for b in (False, True))
    assert isinstance(late, int)
    assert isinstance(early, int)
    assert late >= PAGES - 1
    assert early < PAGES // 4
