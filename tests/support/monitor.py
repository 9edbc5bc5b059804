"""Metrics and probes as a scraper and a load balancer get them: over HTTP, from a router that runs."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Monitor", "Said", "get"]

SECONDS = 30.0


class Said(NamedTuple):
    """What came of a request."""

    status: int
    text: str

    @property
    def document(self) -> Any:
        """The answer as JSON."""
        return json.loads(self.text)


def get(url: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Said:
    """Ask for an address, in plain HTTP. Raises URLError if nobody answers."""
    request = urllib.request.Request(url, headers=dict(headers or {}), method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return Said(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        return Said(error.code, error.read().decode())


class Monitor:
    """The monitor at a free port of this machine."""

    def __init__(self) -> None:
        """Nothing is asked."""
        self.address = f"127.0.0.1:{free_port()}"

    @property
    def config(self) -> str:
        """Its table in config.toml."""
        return f'\n[monitor]\naddress = "{self.address}"\n'

    def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Said:
        """Ask for a path."""
        return get(f"http://{self.address}{path}", headers, method)

    def lives(self) -> bool:
        """Whether it answers."""
        try:
            return self.get("/healthz") == Said(200, "ok\n")
        except urllib.error.URLError:
            return False

    def samples(self, headers: Mapping[str, str] | None = None) -> dict[str, float]:
        """Scrape; return the samples as ``name{label="value",...}`` without the common prefix."""
        said = self.get("/metrics", headers)
        assert said.status == 200, said
        found = {}
        for family in text_string_to_metric_families(said.text):
            for sample in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
                name = sample.name.removeprefix("hookrouter_")
                found[f"{name}{{{labels}}}" if labels else name] = sample.value
        return found
