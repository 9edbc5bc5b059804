"""Write the modules that follow from the contract: ``python -m scripts.generate.contract [--check]``.

Source: the hook contract in ``hookrouter/_contract``, as measured on one version of Claude Code. Written are the tables
of the hook process, the classes of events and tools, and the hookspecs of both. ``--check`` writes nothing and exits 1
if a committed file differs from what would be written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hookrouter._contract.document import TOOL_EVENTS
from scripts.generate.events import CLASSES, write_events
from scripts.generate.hookspecs import write_event_specs, write_tool_specs
from scripts.generate.reading import read_contract
from scripts.generate.tables import write_tables
from scripts.generate.tools import HELPERS, write_package, write_tool

__all__ = ["generate", "main"]

PACKAGE = Path(__file__).resolve().parents[2] / "hookrouter"

BY_HAND = (f"events/{CLASSES}.py", f"tools/{HELPERS}.py")
"""The modules of generated packages that are written by hand."""


def generate() -> dict[str, str]:
    """Return path inside the package -> text, for every generated module."""
    contract = read_contract()
    files = {
        "_contract/tables.py": write_tables(contract),
        **{f"events/{name}": text for name, text in write_events(contract).items()},
        "hookspecs/events.py": write_event_specs(contract),
        "tools/__init__.py": write_package(list(contract.tools), contract.version),
    }
    for suffix, tool in contract.tools.items():
        files[f"tools/{suffix}.py"] = write_tool(tool)
    for event in contract.events:
        if event.name in TOOL_EVENTS:
            files[f"hookspecs/{event.hook}.py"] = write_tool_specs(contract, event)
    return files


def main(arguments: list[str] | None = None) -> int:
    """Write the modules, or with ``--check`` say which differ; return the exit code: 2 for a faulty contract."""
    check = (sys.argv[1:] if arguments is None else arguments) == ["--check"]
    try:
        files = generate()
    except ValueError as error:
        sys.stderr.write(f"scripts.generate.contract: {error}\n")
        return 2
    stale = []
    for name, text in files.items():
        path = PACKAGE / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(f"{name} {'is out of date' if check else 'written'}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in sorted(path for folder in ("events", "tools") for path in (PACKAGE / folder).glob("*.py")):
        name = f"{path.parent.name}/{path.name}"
        if name not in files and name not in BY_HAND:
            stale.append(f"{name} {f'belongs to no {path.parent.name[:-1]}' if check else 'removed'}")
            if not check:
                path.unlink()
    sys.stdout.writelines(f"{line}\n" for line in stale)
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
