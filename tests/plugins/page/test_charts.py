"""Charts: what is drawn stays within the drawing, and the table beside it has every figure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookrouter_page.charts import HEIGHT, WIDTH, columns, rows

COUNTS = st.integers(0, 10**9)


@given(st.lists(st.tuples(COUNTS, COUNTS), max_size=40))
def test_columns_stand_within_the_drawing(values: list[tuple[int, int]]) -> None:
    names = [f"day {number}" for number in range(len(values))]
    series = {"verified": [one for one, _ in values], "mismatch": [one for _, one in values]}
    chart = columns("Answers", names, series, "day")
    for bar in chart.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 0.2
        assert -0.2 <= bar.y <= bar.y + bar.height <= HEIGHT + 0.2
    assert [row[1:] for row in chart.table] == [[str(one), str(other)] for one, other in values if one or other]


@given(st.lists(st.tuples(st.text(), st.floats(0, 1e6)), max_size=40))
def test_rows_stand_within_the_drawing(values: list[tuple[str, float]]) -> None:
    chart = rows("Times", values, "ms", "plugin")
    for bar in chart.bars:
        assert bar.width <= WIDTH
        assert bar.y + bar.height <= chart.height
    assert len(chart.table) == len(values)
