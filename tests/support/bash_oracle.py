"""What bash makes of a command line, to hold the reader of permission rules against."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import tempfile
from pathlib import Path

__all__ = ["disagreement", "random_line"]

PLAIN = (
    "a git push -x if then fi X=1 * ~ b=2 echo rm -rf / ./x 'b c' \"d e\" 'it' \"x\"y --a=b "
    "{a,b} x{1..3} {a stash@{0} [x] a[1]"
)
SPECIAL = "$ $(x) ${x} ` ( ) { } ! = && || ; | & > < >> 2>&1 &> # ' \" << <<< ;; |& [[ ]] \\ $'a' $\"b\" &>> >| <( (("
BETWEEN = ["", " ", "  ", "\t", "\n"]
NOISE = "ab'\"$`\\ \t\n;&|<>(){}#!*?=~-\u00a0\u2028\r\x01é"


def random_line(source: random.Random) -> str:
    """Return a command line, plain or strange."""
    if source.random() < 0.2:
        return "".join(source.choice(NOISE) for _ in range(source.randint(0, 24)))
    words = PLAIN.split() + (SPECIAL.split() if source.random() < 0.3 else ["&&", "||", ";", "|"])
    parts = [source.choice(words) + source.choice(BETWEEN) for _ in range(source.randint(1, 9))]
    return "".join(parts)


def disagreement(line: str, commands: list[list[str]]) -> str:
    """Return how bash reads a line otherwise than as these simple commands; empty if it does not."""
    checked = subprocess.run(["bash", "-n"], input=line.encode(), capture_output=True, check=False)
    if checked.returncode != 0 or checked.stderr:
        return f"bash refuses it: {checked.stderr.decode(errors='replace').strip()}"
    names = sorted({words[0] for words in commands})
    if not all(name.isascii() and name.isalnum() for name in names):
        # Such a name cannot be a function's, so nothing is run to see.
        return ""
    # Commands of a pipe run at once, each in a process of its own: so each process has a file.
    printed = """{ printf '%s\\0' {0} "$@" $'\\n' >> "$FOLDER/$BASHPID"; }"""
    functions = "\n".join(f"function {name} {printed.replace('{0}', name)}" for name in names)
    # Globs stay as they are; each command only prints its words, so nothing is run.
    script = f"set -f\nPATH=/nonexistent HOME=/home/x\n{functions}\neval {shlex.quote(line)}\nwait\n"
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "FOLDER": folder}
        subprocess.run(["bash", "-c", script], env=environ, capture_output=True, check=False)
        written = [file.read_bytes().decode(errors="surrogateescape") for file in Path(folder).iterdir()]
    found: list[list[str]] = [[]]
    for word in (word for text in written for word in text.split("\0")[:-1]):
        if word == "\n":
            found.append([])
        else:
            found[-1].append(word)
    # `a || b` runs one of both; whatever ran must be one of them, word for word.
    strange = [words for words in found if words and _untilded(words) not in [_untilded(one) for one in commands]]
    return f"bash ran {strange}" if strange else ""


def _untilded(words: list[str]) -> list[str]:
    """Leave out words that bash expands to a home folder."""
    return [words[0], *(word for word in words[1:] if not word.startswith(("~", "/root", "/home")))]
