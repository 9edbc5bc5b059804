"""Wheels of one module, made without a build."""

from __future__ import annotations

import zipfile
from pathlib import Path

__all__ = ["wheel"]

GUARD = """
from hookrouter import hookimpl

@hookimpl
def pre_tool_use_bash(tool_input):
    return None
"""


def wheel(folder: Path, name: str, text: str = GUARD, *, version: str = "1.0", announced: bool = True) -> Path:
    """Write a wheel with one module, and return its path."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", text)
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        if announced:
            file.writestr(f"{info}/entry_points.txt", f"[hookrouter]\n{name.replace('_', '-')} = {name}\n")
        file.writestr(f"{info}/RECORD", "")
    return path
