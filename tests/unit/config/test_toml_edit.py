"""Setting one key in a TOML text: nothing else changes, whatever the text looks like; and where each key is set."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter._config.toml_edit import TomlEditError, add_tables, set_value
from hookrouter._config.toml_lines import lines_of, statements

BLOCKS = (
    "[plugins]",
    "  [ plugins . a ] # a",
    '[plugins."x.y"]',
    "[plugins.b.settings]",
    "[[agents]]",
    "[agents.sub]",
    "[gateways.inbox]",
    "enabled = true",
    "enabled=false # not true",
    '"enabled" = true',
    'order = ["a", "b"] # ["c"]',
    'order = [\n  "a", # one\n  "b",\n]',
    "order = []",
    "a.enabled = true",
    "a.timeout = 3",
    "a = { enabled = true, timeout = 3 }",
    "a = {}",
    'b = { settings = { text = "{ enabled = true }" } }',
    "plugins.a.enabled = false",
    "plugins.a = { timeout = 3 }",
    "plugins.order = []",
    "plugins = { a = { enabled = false }, order = [] }",
    "plugins = {}",
    "timeout = 3",
    'x = """\n[plugins.a]\nenabled = true\n"""',
    "y = [nan, [\n# deep\n2020-01-01]]",
    "[answer]",
    'answer.escalate_to = "chat" # one',
    'escalate_to = "a # b, }" # one',
    "escalate_to = '''\n# no comment\n'''",
    'answer = { wait = 3, escalate_to = "}" }',
    "# [plugins.a] enabled = true",
    "",
    "'true' = true",
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw a TOML text that may have tables for plugins in any of the forms that there are."""
    text, newline = "", draw(st.sampled_from(["\n", "\r\n"]))
    for block in draw(st.lists(st.sampled_from(BLOCKS), max_size=12)):
        longer = text + block.replace("\n", newline) + newline
        try:
            tomllib.loads(longer)
        except tomllib.TOMLDecodeError:
            continue
        text = longer
    return text if draw(st.booleans()) else text.removesuffix(newline)


CHANGES = st.one_of(
    st.tuples(
        st.sampled_from(["a", "b", "x.y", 'we"ird\x7f', "é", ""]).map(lambda name: ("plugins", name, "enabled")),
        st.booleans(),
    ),
    st.tuples(
        st.just(("answer", "escalate_to")),
        st.sampled_from(["chat", "# x", 'q"', "\x7f", 3, 2.5, True]) | st.integers() | st.floats(allow_nan=False),
    ),
    st.tuples(st.just(("plugins", "order")), st.lists(st.sampled_from(["a", "b", 'x"y', "#c]"]), max_size=3)),
)


@given(documents(), CHANGES)
@example("[plugins.a]\n", (("plugins", "order"), ["a"]))
@example('order = ["plugins"]\nplugins = {}', (("plugins", "order"), ["a"]))
def test_a_key_is_set_and_nothing_else_changes(text: str, change: tuple[tuple[str, ...], Any]) -> None:
    path, value = change
    edited = set_value(text, path, value)
    expected, table = tomllib.loads(text), tomllib.loads(edited)
    inner: Any = expected
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    assert repr(ordered(table)) == repr(ordered(expected))
    lost = Counter(text.split("\n")) - Counter(edited.split("\n"))
    assert any(not lost - Counter(part.text.split("\n")) for part in statements(text)) or lost == Counter()
    for comment in ("# one", "# deep", "# a", "# not true", '# ["c"]', "# [plugins.a] enabled = true"):
        assert edited.count(comment) >= text.count(comment)
    assert set_value(edited, path, value) == edited


def ordered(value: object) -> object:
    if isinstance(value, dict):
        return sorted((key, ordered(item)) for key, item in value.items())
    return value


@given(documents())
def test_statements_are_the_text_and_every_key_has_a_line(text: str) -> None:
    parts = statements(text)
    assert "".join(part.text for part in parts) == text
    lines = lines_of(text)
    for key, line in lines.items():
        assert 1 <= line <= text.count("\n") + 1, key
    assert set(names(tomllib.loads(text))) == set(lines)


def names(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict):
        inner = [names(item, f"{path}.{key}".removeprefix(".")) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [names(item, f"{path}[{index}]") for index, item in enumerate(value)]
    else:
        inner = []
    return [*([path] if path else []), *(name for group in inner for name in group)]


def test_the_line_of_a_key_is_that_of_its_statement() -> None:
    text = (
        '# top\n[[agents]]\nid = "a"\nsessions = [\n  "x",\n  "y",\n]\n\n[[agents]]\nid = "b"\n[agents.sub]\nc.d = 1\n'
    )
    lines = lines_of(text)
    assert (lines["agents"], lines["agents[0]"], lines["agents[0].sessions"], lines["agents[0].sessions[1]"]) == (
        *(2, 2),
        *(4, 4),
    )
    assert (lines["agents[1]"], lines["agents[1].id"], lines["agents[1].sub"], lines["agents[1].sub.c.d"]) == (
        *(9, 10),
        *(11, 12),
    )


@pytest.mark.parametrize(
    ("text", "path", "value", "edited"),
    [
        ("", ("plugins", "a", "enabled"), False, "[plugins.a]\nenabled = false\n"),
        ("x = 1", ("plugins", "a", "enabled"), False, "x = 1\n\n[plugins.a]\nenabled = false\n"),
        (
            "[plugins.a] # mine\n\n# why\ntimeout = 3\n[b]\n",
            ("plugins", "a", "enabled"),
            True,
            "[plugins.a] # mine\nenabled = true\n\n# why\ntimeout = 3\n[b]\n",
        ),
        (
            "[x]\n# of a\n[plugins.a]\nenabled = false # off\n",
            ("plugins", "order"),
            ["b", "a"],
            '[x]\n[plugins]\norder = ["b", "a"]\n\n# of a\n[plugins.a]\nenabled = false # off\n',
        ),
        (
            '[plugins]\norder = [\n  "a", # first\n  "#b",\n] # all\n',
            ("plugins", "order"),
            ["b"],
            '[plugins]\n# first\norder = ["b"] # all\n',
        ),
        (
            "plugins = { a = { timeout = 3 } }\n",
            ("plugins", "a", "enabled"),
            False,
            "plugins = { a = { enabled = false, timeout = 3 } }\n",
        ),
        (
            "plugins.a.timeout = 3",
            ("plugins", "a", "enabled"),
            False,
            "plugins.a.timeout = 3\nplugins.a.enabled = false\n",
        ),
    ],
)
def test_what_an_edit_looks_like(text: str, path: tuple[str, ...], value: Any, edited: str) -> None:
    assert set_value(text, path, value) == edited


@pytest.mark.parametrize("text", ["plugins = 3", "[plugins]\na = 1\n", "[[plugins]]\n"])
def test_a_key_below_what_is_no_table_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(TomlEditError, match=r"write it yourself: plugins\.a\.enabled = false"):
        set_value(text, ("plugins", "a", "enabled"), False)


def test_a_text_that_is_no_toml_is_refused() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        set_value("[plugins", ("plugins", "order"), [])


TABLES = '# who\n[[agents]]\nid = "new" # x\n\n[gateways."a b"]\ntype = "x"\n'


@given(documents(), st.booleans())
def test_tables_are_added_and_every_byte_stays(text: str, first: bool) -> None:
    before = tomllib.loads(text)
    try:
        longer = add_tables(text, TABLES, before=("agents",) if first else ())
    except TomlEditError:
        # Inline tables cannot be added to.
        return
    added = TABLES.replace("\n", "\r\n") if "\r\n" in text else TABLES
    at = longer.index(added)
    around = longer[:at], longer[at + len(added) :]
    assert "".join(around).replace("\r\n", "").replace("\n", "") == text.replace("\r\n", "").replace("\n", "")
    assert around[1] == "" or (first and text.endswith(around[1].removeprefix("\r\n").removeprefix("\n")))
    table = tomllib.loads(longer)
    ids = [agent.get("id") for agent in table["agents"]]
    assert ids.index("new") == (0 if around[1] else len(ids) - 1)
    assert table.pop("gateways")["a b"] == {"type": "x"}
    table.pop("agents")
    assert repr(table) == repr({key: value for key, value in before.items() if key not in ("agents", "gateways")})


def test_what_is_there_is_not_added_again() -> None:
    for text in ("gateways = {}\n", '[gateways."a b"]\ntype = "y"\n', "agents = []\n"):
        with pytest.raises(TomlEditError, match=re.escape(TABLES)):
            add_tables(text, TABLES)
