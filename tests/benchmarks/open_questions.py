"""What the hook of a question costs while other sessions have questions open, in milliseconds.

    python tests/benchmarks/open_questions.py [--rounds N] [--write]

Every case is the whole PreToolUse of AskUserQuestion, a fresh process of the installed script in a home in which so
many questions of other sessions are open; the cases are interleaved. ``--write`` puts the medians into
docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.hook_run import CALL, QUESTION, UNWANTED, measure
from hookrouter.dialogs import documents
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.util.claude_process import process_space
from hookrouter.util.program import script_argv
from support.manual import write_part

OPEN = (1, 100, 400)


def main() -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--write", action="store_true", help="put the medians into docs/evidence/speed.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = measure({f"{count} open": case(Path(folder), count) for count in OPEN}, given.rounds)
    lines = ["| questions that are open elsewhere | ms (wall) | ms (processor time) |", "|---|---|---|"]
    for count in OPEN:
        wall, cpu = (statistics.median(column) * 1000 for column in zip(*times[f"{count} open"], strict=True))
        lines.append(f"| {count} | {wall:.0f} | {cpu:.0f} |")
    print("\n".join(lines))
    if given.write:
        write_part("docs/evidence/speed.md", "open-questions", "\n".join(lines))
    return 0


def case(folder: Path, count: int) -> tuple[list[str], bytes, dict[str, str]]:
    """Open so many questions in a home of their own; return command, stdin and environment of one more."""
    home = Home.in_folder(str(folder / f"open-{count}"))
    store = open_store(home, print)
    for number in range(count):
        question = documents.Dialog(
            session=f"claude-{number:08x}",
            session_id=f"{number:08x}-2222-4333-8444-555555555555",
            tool_use_id=f"toolu_01{number:022d}",
            questions=[QUESTION],
            terminal=None,
            agent="default",
            gateway="inbox",
            client_pid=os.getpid(),
            client_host=process_space(),
        )
        documents.save_question(store, question)
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    asked = {**CALL, "tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}
    return [*script_argv(), "run", "pre-tool-use"], json.dumps(asked).encode(), {**clean, "HOOKROUTER_HOME": home.root}


if __name__ == "__main__":
    sys.exit(main())
