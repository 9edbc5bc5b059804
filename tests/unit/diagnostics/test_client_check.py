"""The config.toml of the trial of ``doctor --client``: the user's planner and plugins, whatever their settings hold."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter._config.reader import survey
from hookrouter._diagnostics.client_check import _config
from hookrouter.config import Config, PluginConfig

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@example({"a": "\x7f"}, None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([None, 30.0, 0.5]))
def test_the_trial_reads_the_settings_of_plugins_as_they_are(settings: dict[str, Any], timeout: float | None) -> None:
    config = Config(plugins={"guard": PluginConfig(settings=settings, timeout=timeout)}, plugin_order=("guard",))
    text = _config(config, "tmux")
    table = tomllib.loads(text)["plugins"]["guard"]
    assert (table["settings"], table.get("timeout")) == (settings, timeout)
    problems, found = survey(text.encode())
    assert (problems, found is not None and found.plugin_order) == ([], ("guard",))
