"""Plugins for tests: written to a folder as an installed distribution would be, or held in memory."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

__all__ = ["write_plugin"]


def write_plugin(folder: Path, name: str, source: str, *, version: str = "1.0", attribute: str = "") -> Path:
    """Write a module and the metadata of a distribution that announces it as the plugin ``name``.

    With ``folder`` in PYTHONPATH, a process finds the plugin as if it were installed. ``attribute`` is what the entry
    point names inside the module, the module itself by default. Returns the module's file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    file = folder / f"{module}.py"
    file.write_text(source, encoding="utf-8")
    # Python would take the bytecode of a text that is as long and was written in the same second.
    Path(cache_from_source(str(file))).unlink(missing_ok=True)
    metadata = folder / f"{module}-{version}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    value = f"{module}:{attribute}" if attribute else module
    (metadata / "entry_points.txt").write_text(f"[hookrouter]\n{name} = {value}\n", encoding="utf-8")
    return file
