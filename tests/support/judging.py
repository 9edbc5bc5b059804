"""What CI thinks of a run: failures, tests to run again, unsteady ones, and where the seconds went."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from support.layers import LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from support.reports import Phase

__all__ = ["MOST_UNSTEADY", "Judgement", "judge", "table"]

MOST_UNSTEADY = 3
"""So many tests may fail at first and pass when they are run again, alone."""

_MOST_AGAIN = 10
"""If more fail, something is broken: they are not run again."""

_SLOWEST = 25
_RETRIED = frozenset(layer.name for layer in LAYERS if layer.retried)
_RULE = "=" * 80


class Judgement(NamedTuple):
    """What failed in the first run."""

    failed: list[str]
    """What counts as it is, with the reason."""
    again: dict[str, str]
    """The whole first failure of each test that may be run again, by test."""

    @property
    def to_run_again(self) -> list[str]:
        """The tests to be run again; none if the verdict cannot change by it."""
        return list(self.again) if not self.failed and len(self.again) <= _MOST_AGAIN else []

    def verdict(self, passed: Mapping[str, bool]) -> tuple[str, bool]:
        """Return what is to be said, and whether the run is good. ``passed``: how the tests ended that ran again."""
        unsteady = {test: text for test, text in self.again.items() if passed.get(test)}
        failed = [*self.failed, *(f"{test}\n{text}" for test, text in self.again.items() if test not in unsteady)]
        lines = [f"{_RULE}\nFAILED: {each}" for each in failed]
        lines += [f"{_RULE}\nUNSTEADY, passed alone: {test}\n{text}" for test, text in unsteady.items()]
        lines.append(_RULE)
        if unsteady:
            lines += [f"unsteady: {test}" for test in unsteady]
            lines.append("An unsteady test is a bug until it is understood: python tests/steady TEST -n 30 --load")
        if len(unsteady) > MOST_UNSTEADY:
            lines.append(f"{len(unsteady)} tests are unsteady; no more than {MOST_UNSTEADY} may be.")
        good = not failed and len(unsteady) <= MOST_UNSTEADY
        lines.append(f"Verdict: {'good' if good else 'NOT GOOD'}: {len(failed)} failed, {len(unsteady)} unsteady")
        return "\n".join(lines), good


def judge(phases: Iterable[Phase]) -> Judgement:
    """Tell failures that count at once from those of tests that are to be run again."""
    texts: dict[str, list[str]] = defaultdict(list)
    counts: dict[str, str] = {}
    for phase in phases:
        if phase.outcome != "failed":
            continue
        texts[phase.test].append(phase.text)
        if phase.unsafe:
            counts[phase.test] = "an assertion of the product's safety"
        elif phase.layer not in _RETRIED:
            counts.setdefault(phase.test, f"tests in {phase.layer or 'no layer'!r} are not run again")
    whole = {test: "\n".join(said) for test, said in texts.items()}
    return Judgement(
        [f"{test}: {why}\n{whole[test]}" for test, why in counts.items()],
        {test: text for test, text in whole.items() if test not in counts},
    )


def table(phases: Sequence[Phase]) -> str:
    """Return where the time went: seconds by layer, added up over all workers, and the slowest tests."""
    layers: dict[str, float] = defaultdict(float)
    tests: dict[str, float] = defaultdict(float)
    for phase in phases:
        layers[phase.layer] += phase.seconds
        tests[phase.test] += phase.seconds
    counted = {layer: len({phase.test for phase in phases if phase.layer == layer}) for layer in layers}
    lines = [_RULE, "Seconds by layer, all workers together:"]
    lines += [
        f"{layers[layer.name]:9.1f}  {counted[layer.name]:6}  {layer.name}" for layer in LAYERS if layer.name in layers
    ]
    lines.append(f"The {_SLOWEST} slowest tests:")
    slowest = sorted(tests.items(), key=lambda item: -item[1])[:_SLOWEST]
    lines += [f"{seconds:9.1f}  {test}" for test, seconds in slowest]
    return "\n".join(lines)
