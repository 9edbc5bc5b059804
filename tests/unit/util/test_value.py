from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util.value import NO_ITEMS, Value, decode, encode


class Point(Value):
    x: int
    y: float = 0.0
    label: str | None = None


class Shape(Value, kw_only=True):
    name: str
    points: tuple[Point, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    table: Mapping[str, object] = NO_ITEMS
    by_name: Mapping[str, Point] = NO_ITEMS
    pair: tuple[str, bool, float] | None = None


class Solid(Shape):
    depth: int = 1


def test_fields_come_in_order_or_by_name_and_have_defaults():
    assert Point(1) == Point(x=1, y=0.0, label=None)
    assert Point(1, 2.0, label="a")._items() == [("x", 1), ("y", 2.0), ("label", "a")]
    assert Solid(name="a")._items()[0] == ("name", "a")
    assert Solid(name="a").depth == 1
    assert repr(Point(1)) == "Point(x=1, y=0.0, label=None)"


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, 3, 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"y": 1.0}), ((), {"y": 1.0, "z": 2})],
)
def test_too_many_too_few_and_unknown_fields_are_refused(values, named):
    with pytest.raises(TypeError):
        Point(*values, **named)
    with pytest.raises(TypeError):
        Shape("a")  # type: ignore[misc] # by name alone


def test_a_value_does_not_change():
    point = Point(1)
    with pytest.raises(AttributeError, match="immutable"):
        point.x = 2  # type: ignore[misc] # the point of it
    with pytest.raises(AttributeError, match="immutable"):
        del point.x
    assert copy.deepcopy(point) is copy.copy(point) is point
    assert point._with(x=2) == Point(2)
    assert point.x == 1


def test_values_are_equal_and_hashed_by_class_and_fields():
    assert len({Point(1), Point(1), Point(2)}) == 2
    assert Shape(name="a") != Solid(name="a")
    assert Point(1) != (1, 0.0, None)
    with pytest.raises(TypeError):
        hash(Shape(name="a", table={"a": []}))


def test_a_match_statement_takes_them_apart():
    match Point(1, 2.0):
        case Point(x, y):
            assert (x, y) == (1, 2.0)


def test_a_class_with_slots_and_a_constructor_of_its_own_stays_possible():
    class Own(Value):
        __slots__ = ("a", "b")
        a: int
        b: int

        def __init__(self, total: int) -> None:
            self._set(a=total, b=-total)

    assert Own(1)._items() == [("a", 1), ("b", -1)]
    assert Own(1) == Own(1)


POINTS = st.builds(Point, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.none() | st.text())
SOLIDS = st.builds(
    Solid,
    name=st.text(),
    points=st.lists(POINTS).map(tuple),
    sizes=st.lists(st.tuples(st.text(), st.integers())).map(tuple),
    table=st.dictionaries(st.text(), st.none() | st.lists(st.booleans())),
    by_name=st.dictionaries(st.text(), POINTS),
    pair=st.none() | st.tuples(st.text(), st.booleans(), st.floats(0, 1)),
    depth=st.integers(),
)


@given(SOLIDS)
def test_what_is_written_as_json_is_read_again(value):
    assert decode(Solid, json.loads(json.dumps(encode(value)))) == value


@given(SOLIDS)
def test_what_is_written_without_defaults_is_read_again(value):
    written = encode(value, sparse=True)
    assert decode(Solid, json.loads(json.dumps(written))) == value
    assert "depth" in written or value.depth == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=5,
)


@given(SOLIDS, st.sampled_from([*Solid._fields, "unknown"]), JSON)
def test_what_is_read_always_fits_the_annotations(value, name, item):
    """Anything in one field: either it is refused, or it is read as what is written again."""
    document = {**encode(value), name: item}
    try:
        read = decode(Solid, document)
    except TypeError:
        return
    assert name != "unknown"
    again = encode(read)[name]
    assert again == item
    assert type(again) is type(item)


def test_fields_that_are_missing_have_their_defaults():
    assert decode(Point, {"x": 1}) == Point(1)
    assert decode(Point, {"x": 1, "y": 2}) == Point(1, 2.0)
    for document in ({}, {"x": True}, {"x": 1.0}, {"x": 1, "y": False}, [1, 2, "a", 4], "x", None, {"x": 1, "z": 1}):
        with pytest.raises(TypeError):
            decode(Point, document)


def test_a_row_is_read_in_the_order_of_the_fields():
    assert decode(Point, [1, 2.0, "a"]) == Point(1, 2.0, "a")
    assert decode(Point, [1]) == Point(1)


def test_an_annotation_that_is_not_understood_is_an_error_of_the_class():
    class Odd(Value):
        when: bytes = b""

    with pytest.raises(TypeError, match="bytes"):
        decode(Odd, {"when": "x"})


class Noted(Value):
    name: Annotated[str, 'a [text, as "it is"', ("x", "y")] = ""
    names: Annotated[Mapping[str, tuple[str, ...]] | None, "names"] = None


def test_what_an_annotation_says_beside_the_type_changes_nothing():
    noted = Noted("a", {"b": ("c",)})
    assert decode(Noted, json.loads(json.dumps(encode(noted)))) == noted
    with pytest.raises(TypeError):
        decode(Noted, {"name": 1})
