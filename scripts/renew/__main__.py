"""Renew pin, generated files and recorded screens for a Claude Code release: ``python -m scripts.renew 2.1.331``.

Installs that client into ``.live/``, runs it in an isolated home with a scripted model, and only then writes: the pin
and the contract's version, what is generated from them, and the screens of the new version. What nobody can derive from
a run is compared and told, with the file and the key to edit. Exits 0 if nothing is left to edit, 1 if something is, 2
if nothing could be done; then nothing was changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookrouter._contract.compare import read_contract_file
from hookrouter._contract.document import CONTRACT_FILE, VERSION
from hookrouter._sandbox.client import ClientError, install_client
from hookrouter._sandbox.processes import ending_on_signals
from hookrouter._sandbox.tmux_server import TmuxError
from hookrouter._sandbox.waiting import WaitTimeoutError
from hookrouter.tools import AskUserQuestionInput
from scripts.renew.comparing import Edit, compare_contract, compare_reading
from scripts.renew.pin import parse_version, pinned
from scripts.renew.recording import record
from scripts.renew.scenes import SCENES, STARTS, TOOL_SCENES, same_dialog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scripts.renew.recording import Recording

__all__ = ["main", "renew"]

ROOT = Path(__file__).resolve().parents[2]
SCREENS = "tests/data/screens"
GENERATORS = ("contract", "docs", "manual", "claude_plugin")


def renew(root: Path, version: str, seen: Recording) -> tuple[list[str], list[Edit]]:
    """Write what follows from a recording below ``root``; return the files that changed, and what is left to edit.

    Nothing is written if a place to change is not as expected: that raises ValueError.
    """
    changes: dict[str, str | None] = {**pinned(root, VERSION, version), **_screens(root, version, seen.screens)}
    forms = {name: AskUserQuestionInput.from_json(form) for name, form in read_forms(root).items()}
    contract = read_contract_file(CONTRACT_FILE)
    path = f"hookrouter/_contract/{Path(CONTRACT_FILE).name.replace(VERSION, version)}"
    edits = compare_contract(path, contract, seen)
    edits += compare_reading(SCENES, forms, _recorded(root, VERSION), seen.screens)
    edits += [
        Edit("scripts/renew/scenes.py", name, f"not recorded: {said.partition('; last seen')[0]}")
        for name, said in seen.failed.items()
    ]
    for name, text in changes.items():
        if text is None:
            (root / name).unlink()
        else:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    if any(not name.startswith(SCREENS) for name in changes):
        # In processes of their own, which read the new pin.
        for name in GENERATORS:
            subprocess.run([sys.executable, "-m", f"scripts.generate.{name}"], cwd=root, check=True, stdout=sys.stderr)
    return list(changes), edits


def read_forms(root: Path) -> dict[str, Any]:
    """Return the forms of the recorded screens by name."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in (root / SCREENS / "questions").glob("*.json")}


def _recorded(root: Path, version: str) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in (root / SCREENS / version).glob("*.txt")}


def _screens(root: Path, version: str, seen: Mapping[str, str]) -> dict[str, str]:
    """Return the files of screens whose dialog is not what is recorded."""
    recorded = _recorded(root, version)
    return {
        f"{SCREENS}/{version}/{name}.txt": text
        for name, text in seen.items()
        if name not in recorded or not same_dialog(recorded[name], text)
    }


def main(
    arguments: list[str],
    root: Path = ROOT,
    install: Callable[[str], str] = install_client,
    play: Callable[[str, Mapping[str, Any], tuple[str, ...]], Recording] = record,
) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.renew", description=__doc__.partition(":")[0] + ".")
    parser.add_argument("version", metavar="VERSION", help="the release, such as 2.1.331")
    version: str = parser.parse_args(arguments).version
    try:
        parse_version(version)
        program = install(version)
        _say(f"running {program}; this takes some minutes")
        seen = play(program, read_forms(root), tuple(read_contract_file(CONTRACT_FILE).events))
        if seen.said.split()[:1] != [version]:
            raise ClientError(f"{program} says that it is {seen.said}, not {version}")
        if not seen.screens:
            raise ClientError(f"{program} showed no dialog: {next(iter(seen.failed.values()), 'no scene was played')}")
        changed, edits = renew(root, version, seen)
    except (ClientError, TmuxError, WaitTimeoutError, ValueError, OSError) as error:
        _say(f"{error}\nnothing was changed")
        return 2
    except subprocess.CalledProcessError as error:
        _say(f"{' '.join(error.cmd)} failed: mend it and run it again; pin and screens are written")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in _told(version, seen, changed, edits))
    return 1 if edits else 0


def _told(version: str, seen: Recording, changed: list[str], edits: list[Edit]) -> Iterator[str]:
    total = len(SCENES) + len(TOOL_SCENES) + len(STARTS)
    yield f"Claude Code {VERSION} -> {version}: {len(seen.screens)} of {total} screens recorded"
    yield from (f"changed {name}" for name in changed)
    if version != VERSION:
        yield "what is generated from the contract was written anew"
    elif not changed:
        yield "nothing changed"
    yield from (f"edit {edit}" for edit in edits)
    if version != VERSION:
        yield "Next: the tests, and `tests/live/versions --write` for the table in the manual."


def _say(text: str) -> None:
    sys.stderr.write(f"renew: {text}\n")


if __name__ == "__main__":
    with ending_on_signals():
        sys.exit(main(sys.argv[1:]))
