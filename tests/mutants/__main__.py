"""``python tests/mutants --seed 1``: break lines of the product, one at a time, and say which the quick verdict misses.

Works on a copy of the checkout. In each package some statements are chosen by the seed and broken: a condition is
negated, a comparison turned, a number raised by one, a text emptied, a call of a statement left out, a returned value
replaced by None. What is not noticed is a line without a test, or one that changes nothing: look at it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[2]
_PACKAGES = (
    "hookrouter/_routing",
    "hookrouter/dialogs",
    "hookrouter/queue",
    "hookrouter/answering",
    "hookrouter/_installation",
    "hookrouter/messaging",
    "plugins/hookrouter_keystrokes",
)
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


class Mutant(NamedTuple):
    """One broken place."""

    file: str
    line: int
    before: str
    after: str
    source: str
    """The whole module with it."""


def _mutants_of(path: Path) -> Iterator[Mutant]:
    text = path.read_text(encoding="utf-8")
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            for after in _broken(node):
                # Only places of one line: the rest of the module stays as it is, comments included.
                if node.lineno != node.end_lineno:  # type: ignore[attr-defined]
                    continue
                lines = text.splitlines(keepends=True)
                number, begin, end = node.lineno, node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
                line = lines[number - 1].encode()
                broken = (line[:begin] + ast.unparse(after).encode() + line[end:]).decode()
                if broken == lines[number - 1]:
                    continue
                lines[number - 1] = broken
                name = str(path.relative_to(_ROOT))
                yield Mutant(name, number, line.decode().strip(), broken.strip(), "".join(lines))


def _broken(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
        yield ast.Compare(node.left, [_TURNED[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Expr(ast.Constant(None))
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


def _chosen(seed: int, each: int) -> Iterator[Mutant]:
    chance = random.Random(seed)
    for package in _PACKAGES:
        found = [mutant for path in sorted((_ROOT / package).rglob("*.py")) for mutant in _mutants_of(path)]
        yield from chance.sample(found, each)


def _likely(copy: Path, file: str) -> list[str]:
    """Return the folders of tests that are most likely to notice it."""
    top, package = file.split("/")[:2]
    folder = f"tests/unit/{package.strip('_')}" if top == "hookrouter" else f"tests/plugins/{package[11:]}"
    return [folder] if (copy / folder).is_dir() else []


def _is_noticed(copy: Path, mutant: Mutant) -> str:
    """Return how it was noticed; empty if it was not."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "plugins")])}
    for where in (_likely(copy, mutant.file), []):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "-p", "no:cacheprovider", *where]
        done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return failed[0][:150] if failed else f"pytest ended with {done.returncode}"
    return ""


def main() -> int:
    """Break, run, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=3, help="how many in each package")
    arguments = parser.parse_args()
    missed = 0
    mutants = list(_chosen(arguments.seed, arguments.each))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(_ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".live", ".git", "__pycache__", "site"))
        for mutant in mutants:
            whole = (copy / mutant.file).read_text(encoding="utf-8")
            (copy / mutant.file).write_text(mutant.source, encoding="utf-8")
            noticed = _is_noticed(copy, mutant)
            (copy / mutant.file).write_text(whole, encoding="utf-8")
            missed += not noticed
            print(f"{mutant.file}:{mutant.line}: {mutant.before}  ->  {mutant.after}")
            print(f"    {noticed or 'NOT NOTICED'}", flush=True)
    print(f"{len(mutants) - missed} of {len(mutants)} noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
