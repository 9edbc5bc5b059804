"""The table of metrics in the manual, held against a scrape of everything."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from hookrouter.cli.application import Application
from hookrouter.serving.readiness import Readiness
from hookrouter_monitor.counts import Journalled
from hookrouter_monitor.exposition import metrics
from support.resident import Resident, eventually

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guides" / "operations.md"


def _told() -> dict[str, tuple[str, ...]]:
    """Return each metric of the table with its labels."""
    _, _, rest = GUIDE.read_text().partition("### What is measured")
    rows = [line.split("|") for line in rest.splitlines() if line.startswith("| `")]
    found = {}
    for _, names, labels, *_rest in rows:
        for name in re.findall(r"`(\w+)`", names):
            found[name] = tuple(sorted(re.findall(r"`(\w+)`", labels)))
    return found


def test_the_manual_has_every_metric_with_its_labels(tmp_path: Path) -> None:
    environ = {"HOOKROUTER_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    (tmp_path / "config.toml").write_text(
        '[serve]\nmod = true\n[storage]\nengine = "postgresql"\ndsn_env = "NOWHERE"\n'
    )
    with Resident(environ):
        services = Application.from_environ(environ, share=False)
        journalled = Journalled(services.home)
        counts = journalled.counts
        counts.count("hook_runs", "Stop", "routed")
        counts.count("plugin_calls", "guard", "none")
        counts.count("questions_asked", "question")
        counts.count("questions_ended", "question", "verified")
        counts.count("answers", "delivered", "agent")
        counts.count("messages", "inbox", "delivered")
        counts.count("queue_events", "sent")
        counts.count("journal_records", "error")
        counts.time("hook", 0.1, "Stop")
        counts.time("question", 0.1, "question")
        counts.time("delivery", 0.1, "inbox")
        from hookrouter_fleet.progress import ProgressNotes
        from hookrouter_fleet.replica import Brought

        ProgressNotes(services.home).reached(Brought(), 0)

        def scraped() -> str:
            return metrics(services, journalled, Readiness("answers", "writable", "reached")).decode()

        # A router's first start in an environment has its page about a second later.
        eventually(lambda: "page_running" in scraped())
        text = scraped()
    found: dict[str, tuple[str, ...]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = family.name if family.type == "histogram" else sample.name
            found[name.removeprefix("hookrouter_")] = tuple(sorted(set(sample.labels) - {"le"}))
    assert found == _told()
