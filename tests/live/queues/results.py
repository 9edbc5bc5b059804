"""Results as JSON lines, what they come to, and the table of the manual."""

from __future__ import annotations

import collections
import json
import statistics
import sys
from typing import TYPE_CHECKING, Any

from live.queues.judge import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from live.queues.judge import Judged

__all__ = ["emit", "read", "summary", "table"]


def emit(document: Mapping[str, Any], file: str = "") -> None:
    """Print one result, and add it to a file."""
    line = json.dumps(document, ensure_ascii=False)
    print(line, flush=True)
    if file:
        with open(file, "a", encoding="utf-8") as results:
            results.write(f"{line}\n")


def read(files: Iterable[str]) -> list[dict[str, Any]]:
    """Return the results in files, in their order."""
    found = []
    for file in files:
        with open(file, encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return found


def summary(judged: Sequence[Judged], stuck: str = "", faults: Sequence[str] = ()) -> bool:
    """Say what the results come to; return whether there was no fault."""
    counts = collections.Counter(one.verdict for one in judged)
    said = ", ".join(f"{counts[name]} {name}" for name in _VERDICTS if counts[name])
    reasons = collections.Counter(one.reason[:200] for one in judged if one.verdict not in _GOOD)
    lines = [f"{len(judged)} items: {said}"]
    lines += [f"  {number}x not proven: {reason}" for reason, number in reasons.most_common()]
    delays = [one.seconds for one in judged if one.seconds]
    if delays:
        lines.append(f"  from the delivery's begin to the proof: {statistics.median(delays):.2f} s, the median")
    wrong = [f"item {one.made.number} ({one.made.kind}): {one.fault}" for one in judged if one.fault]
    wrong += [*faults, *([stuck] if stuck else [])]
    wrong += [f"item {one.made.number} still waits" for one in judged if one.verdict == Verdict.WAITS and not stuck]
    lines += [f"FAULT {fault}" for fault in wrong]
    print("\n".join(lines), file=sys.stderr, flush=True)
    return not wrong


_VERDICTS = (Verdict.PROVEN, Verdict.UNPROVEN, Verdict.UNDELIVERED, Verdict.WAITS, Verdict.FAULT)
_GOOD = (Verdict.PROVEN,)


def table(results: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table: a row for each kind, a column for each version and channel that was run."""
    runs: dict[tuple[str, tuple[int, ...]], list[Mapping[str, Any]]] = {}
    for one in sorted(results, key=lambda one: (str(one["channel"]), _numbers(one["version"]))):
        runs.setdefault((str(one["channel"]), _numbers(one["version"])), []).append(one)
    kinds = list(dict.fromkeys(str(one["kind"]) for one in sorted(results, key=_of_kind)))
    notes: dict[str, int] = {}
    titles = [f"{channel}, {'.'.join(map(str, version))}" for channel, version in runs]
    rows = [f"| | {' | '.join(titles)} |", f"|---|{'---|' * len(runs)}"]
    for kind in kinds:
        cells = [_cell([one for one in found if one["kind"] == kind], notes) for found in runs.values()]
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    sums = [f"{sum(map(_is_done, found))} of {len(found)}" for found in runs.values()]
    rows.append(f"| all | {' | '.join(sums)} |")
    lines = [*rows, "", *(f"{number}. {note}" for note, number in notes.items())]
    return "\n".join(lines).strip()


def _of_kind(one: Mapping[str, Any]) -> tuple[int, str]:
    kind = str(one["kind"])
    return 0 if kind.startswith(("prompt", "long")) else 1 if kind.startswith("/") else 2, kind


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_done(one: Mapping[str, Any]) -> bool:
    return bool(one["verdict"] == Verdict.PROVEN and one["state"] == "done")


def _cell(found: Sequence[Mapping[str, Any]], notes: dict[str, int]) -> str:
    if not found:
        return ""
    cell = f"{sum(map(_is_done, found))} of {len(found)}"
    for one in found:
        if not _is_done(one):
            reason = one["fault"] or one["reason"]
            note = notes.setdefault(f"{one['verdict']}: {reason}", len(notes) + 1)
            mark = f"<sup>{note}</sup>"
            cell += "" if mark in cell else mark
    return cell
