"""What keeps the house in order: lists that follow the folders, and a budget of lines for each package."""

from __future__ import annotations

import tomllib
from pathlib import Path

from support.code_lines import code_lines

ROOT = Path(__file__).parents[3]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]

BUDGET = {
    "hookrouter": 2765,
    "hookrouter/_config": 1362,
    "hookrouter/_contract": 759,
    "hookrouter/_diagnostics": 2577,
    "hookrouter/_fronts": 184,
    "hookrouter/_inspection": 366,
    "hookrouter/_installation": 1895,
    "hookrouter/_isolation": 855,
    "hookrouter/_mod": 240,
    "hookrouter/_plugins": 2003,
    "hookrouter/_routing": 1650,
    "hookrouter/_sandbox": 2210,
    "hookrouter/_serving": 3006,
    "hookrouter/_setup": 770,
    "hookrouter/answering": 410,
    "hookrouter/cli": 7340,
    "hookrouter/dialogs": 4806,
    "hookrouter/events": 445,
    "hookrouter/hookspecs": 1871,
    "hookrouter/messaging": 2164,
    "hookrouter/permission_rules": 1064,
    "hookrouter/queue": 2698,
    "hookrouter/serving": 520,
    "hookrouter/sessions": 551,
    "hookrouter/shell": 3365,
    "hookrouter/storage": 1679,
    "hookrouter/testing": 2963,
    "hookrouter/tools": 1940,
    "hookrouter/util": 1615,
    "plugins/hookrouter_approvals": 2539,
    "plugins/hookrouter_ask_user_question": 210,
    "plugins/hookrouter_blocked": 382,
    "plugins/hookrouter_command": 242,
    "plugins/hookrouter_demo": 603,
    "plugins/hookrouter_fleet": 1660,
    "plugins/hookrouter_hook_reply": 241,
    "plugins/hookrouter_inbox": 36,
    "plugins/hookrouter_key_counting": 280,
    "plugins/hookrouter_keystrokes": 3938,
    "plugins/hookrouter_monitor": 540,
    "plugins/hookrouter_openclaw": 258,
    "plugins/hookrouter_opentelemetry": 266,
    "plugins/hookrouter_page": 3097,
    "plugins/hookrouter_postgresql": 1852,
    "plugins/hookrouter_rules": 87,
    "plugins/hookrouter_scripts": 364,
    "plugins/hookrouter_sessions": 2025,
    "plugins/hookrouter_tmux": 379,
    "plugins/hookrouter_webhook": 489,
}
"""Lines of code of each package, of the modules beside them, and of each plugin: a rise is a decision of its own."""
ROOM = 1.03
"""How far a package may grow without one."""


def packages(folder: str) -> set[str]:
    return {one.name for one in (ROOT / folder).iterdir() if (one / "__init__.py").is_file()}


def counted() -> dict[str, int]:
    found: dict[str, int] = {}
    for folder in ("hookrouter", "plugins"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            inner = file.relative_to(ROOT / folder)
            name = f"{folder}/{inner.parts[0]}" if len(inner.parts) > 1 else folder
            found[name] = found.get(name, 0) + len(code_lines(file.read_text(encoding="utf-8")))
    return found


def test_plugins_may_import_no_private_package_whichever_there_are() -> None:
    (contract,) = [one for one in CONFIG["contracts"] if "public names only" in one["name"]]
    modules = {one.stem for one in (ROOT / "hookrouter").glob("_*.py") if not one.stem.startswith("__")}
    private = {name for name in packages("hookrouter") if name.startswith("_")} | modules
    assert {f"hookrouter.{name}" for name in private} == set(contract["forbidden_modules"])


def test_the_linter_counts_what_is_imported_for_types_alone() -> None:
    assert CONFIG["exclude_type_checking_imports"] is False
    assert not [one["name"] for one in CONFIG["contracts"] if one.get("ignore_imports")]


def test_the_linter_knows_every_plugin() -> None:
    plugins = packages("plugins")
    assert {"hookrouter", *plugins} == set(CONFIG["root_packages"])
    for contract in CONFIG["contracts"]:
        for key in ("modules", "source_modules", "forbidden_modules"):
            listed = {name for name in contract.get(key, ()) if name.startswith("hookrouter_")}
            assert not listed or listed == plugins, (contract["name"], key)


def test_no_package_outgrows_its_budget() -> None:
    lines = counted()
    assert lines.keys() == BUDGET.keys()
    assert not {name: (count, BUDGET[name]) for name, count in lines.items() if count > BUDGET[name] * ROOM}
