"""Every exception that hookrouter raises for callers to catch has one base."""

import ast
import importlib
from pathlib import Path

import pytest

import hookrouter
from hookrouter import HookrouterError

ROOT = Path(hookrouter.__file__).parent
NOT_FOR_CALLERS = {
    "Fault", "GatewayFault", "OutputLostError", "PluginFailed", "_UsageFault",
}  # fmt: skip
"""Of use inside of one package, or, as PluginFailed, a failed assertion."""


def exceptions() -> list[tuple[str, str]]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Gone", "Busy", "Fault", "Failed")):
                found.append((module, node.name))
    return [(module, name) for module, name in found if name not in NOT_FOR_CALLERS]


@pytest.mark.parametrize(("module", "name"), exceptions())
def test_it_has_the_base(module: str, name: str) -> None:
    if module == "hookrouter.util.errors":
        return
    kind = getattr(importlib.import_module(module), name)
    assert issubclass(kind, HookrouterError)
