"""The metrics of a home in the text form of Prometheus: what was counted, and how it stands at this moment."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from hookrouter import __version__
from hookrouter.config import DIALOG_KINDS, FILES
from hookrouter.dialogs.documents import list_questions
from hookrouter.queue.documents import list_queues
from hookrouter.queue.items import ENDED, STATES
from hookrouter.serving import control
from hookrouter.storage.interface import StoreError
from hookrouter.storage.progress import read_progress
from hookrouter_monitor.counts import BUCKETS, OTHER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from hookrouter.context import Services
    from hookrouter.serving.readiness import Readiness
    from hookrouter_monitor.counts import Counts, Journalled

__all__ = ["metrics"]


class _Counter(NamedTuple):
    name: str
    help: str
    labels: tuple[str, ...] = ()


_COUNTERS = {
    "router_starts": _Counter("router_starts", "Routers of this home that have begun."),
    "hook_runs": _Counter(
        "hook_runs", "Hook calls that were served, with or without the router.", ("event", "outcome")
    ),
    "plugin_calls": _Counter("plugin_calls", "Calls of plugins in hook runs.", ("plugin", "outcome")),
    "questions_asked": _Counter("questions_asked", "Questions and other dialogs that have opened.", ("kind",)),
    "questions_ended": _Counter("questions_ended", "Those that have ended, by how.", ("kind", "outcome")),
    "answers": _Counter("answers", "Tries to answer, by what came of them.", ("outcome", "by")),
    "messages": _Counter(
        "messages", "What became of messages to agents and people; kept: a try has failed.", ("gateway", "outcome")
    ),
    "queue_events": _Counter("queue_events", "What became of items of queues, and of queues.", ("outcome",)),
    "journal_records": _Counter("journal_records", "Records of the journal that tell of trouble.", ("level",)),
}

_HISTOGRAMS = {
    "hook": _Counter("hook_duration_seconds", "Hook runs, without what they wait for.", ("event",)),
    "question": _Counter("question_open_seconds", "From a question to its end.", ("kind",)),
    "delivery": _Counter("message_delivery_seconds", "The try that has delivered a message.", ("gateway",)),
}

_ROUTER_COUNTERS = (
    ("calls", "router_calls", "Calls that this router has taken."),
    ("died", "router_calls_died", "Calls whose process has died."),
)

_ROUTER_GAUGES = (
    ("running", "router_calls_running", "Calls that run or wait at this moment."),
    ("warm", "router_children_warm", "Processes that have served a call and wait for another one."),
)


_PLUGIN_STATES = ("active", "disabled", "broken")


class _Collected:
    """What prometheus_client asks for the metrics of one moment."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        """Return them."""
        return self._families


def metrics(services: Services, journalled: Journalled, ready: Readiness) -> bytes:
    """Return the metrics of a home. Reads what the journal has new, the documents and the router; raises nothing.

    A label holds names of Claude Code's contract, of plugins and gateways that config.toml or an installation names,
    and words of this program: never a session, a path, or a text of anybody.
    """
    listing = services.plugins.listing()
    names = {info.name for info in listing}
    waits = {(info.name, hook) for info in listing for hook in info.waits}
    journalled.read_on(names, services.config.gateways, waits)
    families = [
        *_counted(journalled.counts),
        *_router(services),
        *_documents(services),
        *_engine(services, ready),
        _gauge("ready", "Whether hooks and answers are taken.", int(ready.is_ready())),
        _gauge("state_writable", "Whether the state folder can be written.", int(ready.state == "writable")),
        _gauge("config_problems", "What is wrong with config.toml.", len(services.config.problems)),
        _labelled(
            "plugins",
            "Plugins by their state.",
            "status",
            {one: sum(info.status == one for info in listing) for one in _PLUGIN_STATES},
        ),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(families))
    return generate_latest(registry)


def _counted(counts: Counts) -> Iterator[Metric]:
    for key, about in _COUNTERS.items():
        family = CounterMetricFamily(f"hookrouter_{about.name}", about.help, labels=about.labels)
        rows = counts.counters.get(key, {})
        if not about.labels:
            rows = {(): rows.get((), 0)}
        for labels, value in sorted(rows.items()):
            family.add_metric(labels, value)
        yield family
    for key, about in _HISTOGRAMS.items():
        histogram = HistogramMetricFamily(f"hookrouter_{about.name}", about.help, labels=about.labels)
        for labels, (classes, total) in sorted(counts.histograms.get(key, {}).items()):
            ends = [*map(str, BUCKETS[key]), "+Inf"]
            histogram.add_metric(labels, list(zip(ends, accumulate(classes), strict=True)), sum_value=total)
        yield histogram


def _router(services: Services) -> Iterator[Metric]:
    try:
        status: dict[str, Any] = control.ask(services.home.router)
    except control.NotServedError:
        status = {}
    yield _gauge("router_up", "Whether the resident router answers.", int(bool(status)))
    info = GaugeMetricFamily("hookrouter_build_info", "The version that runs.", labels=("version",))
    info.add_metric((str(status.get("version", __version__)),), 1)
    yield info
    if not status:
        return
    for key, name, text in _ROUTER_COUNTERS:
        yield CounterMetricFamily(f"hookrouter_{name}", text, value=status.get(key, 0))
    sent_away = status.get("sent_away")
    away = sum(sent_away.values()) if isinstance(sent_away, dict) else 0
    yield CounterMetricFamily("hookrouter_router_calls_sent_away", "Calls that had to run by themselves.", value=away)
    for key, name, text in _ROUTER_GAUGES:
        yield _gauge(name, text, status.get(key, 0))
    yield _gauge("router_calls_waiting", "Calls that run for more than a second.", len(status.get("waiting", ())))
    yield _gauge("router_memory_bytes", "Memory of the router itself.", status.get("memory_kb", 0) * 1024)
    for name in ("gate", "page"):
        part = status.get(name)
        if part:
            yield _gauge(f"{name}_running", f"Whether the process of the {name} runs.", int(bool(part.get("pid"))))


def _documents(services: Services) -> Iterator[Metric]:
    """Yield what waits; nothing of it if the documents cannot be read, which other metrics tell."""
    try:
        questions, queues = list_questions(services.store), list_queues(services.store)
        messages = services.outbox.pending()
    except StoreError:
        return
    kinds = dict.fromkeys((*DIALOG_KINDS, OTHER), 0)
    for question in questions:
        kinds[question.kind if question.kind in kinds else OTHER] += 1
    yield _labelled("questions_open", "Questions and other dialogs that wait for an answer.", "kind", kinds)
    given_up = sum(message.given_up is not None for message in messages)
    states = {"waiting": len(messages) - given_up, "given_up": given_up}
    yield _labelled("outbox_messages", "Messages that wait for delivery, or were given up.", "state", states)
    items = {state: 0 for state in STATES if state not in ENDED}
    for queue in queues:
        for item in queue.items:
            if item.state in items:
                items[item.state] += 1
    yield _labelled("queue_items", "Items of queues that are not done.", "state", items)
    held = sum(queue.hold is not None for queue in queues)
    yield _gauge("queues_held", "Queues that were stopped.", held)


def _engine(services: Services, ready: Readiness) -> Iterator[Metric]:
    """Yield how it stands with the engine that machines share; nothing for files."""
    if services.config.storage.engine == FILES:
        return
    progress = read_progress(services.home)
    yield _gauge("engine_up", "Whether the shared engine was reached a moment ago.", int(ready.engine == "reached"))
    age = progress.age()
    if age is not None:
        yield _gauge("engine_seconds_since_reached", "Seconds since the shared engine was reached.", age)
    documents = CounterMetricFamily(
        "hookrouter_engine_documents", "Documents that were written to the shared engine.", labels=("change",)
    )
    documents.add_metric(("written",), progress.written)
    documents.add_metric(("deleted",), progress.deleted)
    yield documents
    errands = "Commands of other machines that this one has taken."
    yield CounterMetricFamily("hookrouter_engine_errands", errands, value=progress.errands)
    failures = "How often the shared engine failed or was not there."
    yield CounterMetricFamily("hookrouter_engine_failures", failures, value=progress.failures)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"hookrouter_{name}", text, value=value)


def _labelled(name: str, text: str, label: str, values: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"hookrouter_{name}", text, labels=(label,))
    for key, value in values.items():
        family.add_metric((key,), value)
    return family
